import copy

import torch
import torch.nn.functional as F


def cross_validate(make_net, folds, epochs):
    scores = []
    for tr, va in folds:
        net = make_net()
        opt = torch.optim.Adam(net.parameters(), lr=1e-3)
        for _ in range(epochs):
            net.train()
            for x, y in tr:
                opt.zero_grad()
                F.cross_entropy(net(x), y).backward()
                opt.step()
        net.eval()
        with torch.no_grad():
            scores.append(sum((net(x).argmax(1) == y).float().mean().item() for x, y in va) / len(va))
    return scores


def federated(server, clients, rounds):
    for _ in range(rounds):
        states = []
        for dl in clients:
            local = copy.deepcopy(server)
            local.train()
            sgd = torch.optim.SGD(local.parameters(), lr=0.01)
            for x, y in dl:
                sgd.zero_grad()
                F.cross_entropy(local(x), y).backward()
                sgd.step()
            states.append(local.state_dict())
        mean = {k: torch.stack([s[k].float() for s in states]).mean(0) for k in states[0]}
        server.load_state_dict(mean)


def invert(gen, targets, steps=200):
    found = []
    for t in targets:
        z = torch.randn(1, 64, requires_grad=True)
        opt = torch.optim.Adam([z], lr=0.05)
        for _ in range(steps):
            opt.zero_grad()
            F.mse_loss(gen(z), t).backward()
            opt.step()
        found.append(z.detach())
    return found

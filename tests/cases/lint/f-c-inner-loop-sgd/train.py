import copy

import torch


def fedavg(server, clients, rounds, lr):
    for _ in range(rounds):
        states = []
        for data in clients:
            local = copy.deepcopy(server)
            opt = torch.optim.SGD(local.parameters(), lr)
            for x, y in data:
                opt.zero_grad()
                torch.nn.functional.cross_entropy(local(x), y).backward()
                opt.step()
            states.append(local.state_dict())
        server.load_state_dict({k: sum(s[k] for s in states) / len(states) for k in states[0]})

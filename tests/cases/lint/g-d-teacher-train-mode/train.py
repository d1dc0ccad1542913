import copy

import torch


def mean_teacher(net, dl, opt, crit, m=0.99):
    tea = copy.deepcopy(net)
    for p in tea.parameters():
        p.requires_grad_(False)
    net.train()
    for x, xa, y in dl:
        with torch.no_grad():
            t = tea(xa).softmax(1)
        s = net(x)
        loss = crit(s, y) + (s.softmax(1) - t).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for a, b in zip(tea.parameters(), net.parameters()):
                a.lerp_(b, 1 - m)

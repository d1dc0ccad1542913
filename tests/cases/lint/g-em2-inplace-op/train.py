import copy

import torch


def ema_step(avg, net, m):
    for a, p in zip(avg.parameters(), net.parameters()):
        a.mul_(m).add_(p, alpha=1 - m)


def main(net, data, opt, crit):
    avg = copy.deepcopy(net)
    for x, y in data:
        opt.zero_grad()
        crit(net(x), y).backward()
        opt.step()
        ema_step(avg, net, 0.999)

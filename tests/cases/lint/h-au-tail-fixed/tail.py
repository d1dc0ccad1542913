import math

import torch


def train_epoch(net, loader, opt, criterion, accum, device):
    net.train()
    n = len(loader)
    windows = math.ceil(n / accum)
    opt.zero_grad()
    for i, (x, y) in enumerate(loader):
        size = accum if i // accum < windows - 1 else n - (windows - 1) * accum
        loss = criterion(net(x.to(device)), y.to(device)) / size
        loss.backward()
        if (i + 1) % accum == 0 or i + 1 == n:
            opt.step()
            opt.zero_grad()
    return windows

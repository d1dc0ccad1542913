from collections import deque

import torch


class Smoothed:
    def __init__(self, window=20):
        self.window = deque(maxlen=window)

    def push(self, v):
        self.window.append(v)

    def __str__(self):
        return f"{sum(self.window) / len(self.window):.4f}"


def train(net, heads, loader, opt, criterion):
    smooth = Smoothed()
    running = torch.zeros((), device="cuda")
    for i, batch in enumerate(loader):
        feats = net(batch["x"].cuda(non_blocking=True))
        losses = []
        for name, head in heads.items():
            losses.append(criterion(head(feats), batch[name].cuda(non_blocking=True)))
        objective = torch.stack(losses).sum()
        opt.zero_grad()
        objective.backward()
        opt.step()
        with torch.no_grad():
            running += objective
        if i % 50 == 49:
            smooth.push(running.item() / 50)
            running.zero_()
            print(i, smooth)

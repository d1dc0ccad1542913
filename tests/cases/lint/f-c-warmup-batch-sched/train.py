import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR


def fit(net, dl, epochs, crit):
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    total = epochs * len(dl)
    s = SequentialLR(opt, [LinearLR(opt, 0.01, total_iters=500), CosineAnnealingLR(opt, total - 500)], milestones=[500])
    for _ in range(epochs):
        for x, y in dl:
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()
            s.step()

import torch


def train(net, loader, crit, epochs):
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs * len(loader))
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()
            sched.step()

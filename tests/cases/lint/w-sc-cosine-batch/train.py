import torch


def train(vit, loader, opt, crit, epochs=90):
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    for epoch in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            crit(vit(x), y).backward()
            opt.step()
            sched.step()

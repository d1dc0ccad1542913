from torch.optim.lr_scheduler import CosineAnnealingLR


def fit(model, loader, opt, crit, epochs):
    sched = CosineAnnealingLR(opt, T_max=epochs)
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
        sched.step()

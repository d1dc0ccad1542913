import torch


def train(net, loader, crit, epochs):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.4, steps_per_epoch=len(loader), epochs=epochs)
    for ep in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()
            sched.step()

import torch


def fit(net, dl, epochs, crit):
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    cyc = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, epochs=epochs, steps_per_epoch=len(dl))
    for _ in range(epochs):
        for x, t in dl:
            opt.zero_grad()
            crit(net(x), t).backward()
            opt.step()
        cyc.step()

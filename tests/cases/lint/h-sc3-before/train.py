import torch


def fit(net, dl, crit, n):
    opt = torch.optim.Adam(net.parameters())
    sch = torch.optim.lr_scheduler.StepLR(opt, 10)
    for _ in range(n):
        for x, y in dl:
            opt.zero_grad()
            crit(net(x), y).backward()
            sch.step()
            opt.step()

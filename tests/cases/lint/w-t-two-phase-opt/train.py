import torch


def finetune(net, head, stages, loader, crit):
    for lr in stages:
        opt = torch.optim.SGD(net.parameters(), lr=lr)
        for x, y in loader:
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()

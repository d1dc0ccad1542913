import torch


def focal(logits, y, gamma=2.0):
    p = torch.sigmoid(logits)
    pos = -((1 - p) ** gamma) * torch.log(p) * y
    neg = -(p**gamma) * torch.log(1 - p) * (1 - y)
    return (pos + neg).mean()


def step(net, x, y, opt):
    opt.zero_grad()
    focal(net(x), y).backward()
    opt.step()

import torch
import torch.nn.functional as F


def focal(logits, y, gamma=2.0):
    p = torch.sigmoid(logits)
    pos = -((1 - p) ** gamma) * F.logsigmoid(logits) * y
    neg = -(p**gamma) * F.logsigmoid(-logits) * (1 - y)
    return (pos + neg).mean()


def step(net, x, y, opt):
    opt.zero_grad()
    focal(net(x), y).backward()
    opt.step()

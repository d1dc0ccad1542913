import torch
import torch.nn.functional as F


def focal(logits, y, g=2.0):
    ce = F.binary_cross_entropy_with_logits(logits, y, reduction="none")
    p = torch.sigmoid(logits)
    pt = p * y + (1 - p) * (1 - y)
    return (ce * (1 - pt) ** g).mean()


def step(net, x, y, opt):
    opt.zero_grad()
    focal(net(x), y).backward()
    opt.step()

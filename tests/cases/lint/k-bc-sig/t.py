import torch
import torch.nn.functional as F


def loss_fn(scores, y, w):
    p = scores.sigmoid()
    return F.binary_cross_entropy_with_logits(p, y, weight=w)


def step(net, x, y, w, opt):
    l = loss_fn(net(x), y, w)
    opt.zero_grad()
    l.backward()
    opt.step()

import torch
from torch import nn


def init(m):
    if isinstance(m, (nn.Linear, nn.Conv2d)):
        nn.init.kaiming_normal_(m.weight)
        if m.bias is not None:
            m.bias.data.fill_(0.01)
    elif isinstance(m, nn.BatchNorm2d):
        m.weight.data.normal_(1.0, 0.02)
        m.bias.data.zero_()


def wclip(critic, c):
    for p in critic.parameters():
        p.data.clamp_(-c, c)


net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)).apply(init)

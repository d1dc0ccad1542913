import torch
from torch import nn


def prune(net, thr):
    for p in net.parameters():
        p.data *= (p.abs() > thr).float()


class Bias(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.b = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        return x + self.b

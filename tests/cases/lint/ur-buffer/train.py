import math

import torch
from torch import nn


class PosEnc(nn.Module):
    def __init__(self, d, length=5000):
        super().__init__()
        pe = torch.zeros(length, d)
        pos = torch.arange(length).unsqueeze(1)
        div = torch.exp(torch.arange(0, d, 2) * -(math.log(10000.0) / d))
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)
        self.pe = pe

    def forward(self, x):
        return x + self.pe[: x.size(1)]


def build(d):
    return nn.Sequential(nn.Linear(40, d), PosEnc(d)).cuda()

import math

import torch
from torch import nn


class SinePos(nn.Module):
    def __init__(self, d, n=512):
        super().__init__()
        pos = torch.arange(n).unsqueeze(1)
        freq = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        table = torch.zeros(n, d)
        table[:, 0::2] = torch.sin(pos * freq)
        table[:, 1::2] = torch.cos(pos * freq)
        self.table = table.unsqueeze(0)

    def forward(self, x):
        return x + self.table[:, : x.size(1)]

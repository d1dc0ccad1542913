import math

import torch
import torch.nn as nn


class SinCos(nn.Module):
    def __init__(self, d, n=2048):
        super().__init__()
        pos = torch.arange(n).unsqueeze(1)
        div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe = torch.zeros(n, d)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        self.register_buffer("pe", pe)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(x + self.pe[: x.size(1)])


def build(d, layers, device):
    return nn.Sequential(SinCos(d), *layers).to(device)

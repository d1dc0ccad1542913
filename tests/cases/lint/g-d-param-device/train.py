import torch
from torch import nn


class Prompt(nn.Module):
    def __init__(self, n, d, device):
        super().__init__()
        self.p = nn.Parameter(torch.randn(n, d).to(device) * 0.02)
        self.cache = None

    def forward(self, x):
        return torch.cat([self.p.to(x.dtype).expand(x.size(0), -1, -1), x], 1)

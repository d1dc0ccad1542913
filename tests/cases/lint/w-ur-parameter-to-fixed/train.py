import torch
import torch.nn as nn


class ArcHead(nn.Module):
    def __init__(self, d, n, device):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, d, device=device))

    def forward(self, x):
        return nn.functional.linear(nn.functional.normalize(x), nn.functional.normalize(self.weight))

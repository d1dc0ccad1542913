import torch
from torch import nn

from ops import mlp


class Mixer(nn.Module):
    def __init__(self, d, p=0.1):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(4 * d, d) * 0.02)
        self.w2 = nn.Parameter(torch.randn(d, 4 * d) * 0.02)
        self.norm = nn.LayerNorm(d)
        self.p = p

    def forward(self, x):
        return x + mlp(self.norm(x), self.w1, self.w2, self.p if self.training else 0.0)

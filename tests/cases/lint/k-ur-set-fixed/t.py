import torch
from torch import nn


class Scales(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.s = nn.ParameterDict({n: nn.Parameter(torch.ones(1)) for n in names})

    def forward(self, xs):
        return sum(self.s[n] * x for n, x in xs.items())

import math

import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.empty(d, d))
        self.b = nn.Parameter(torch.empty(d))
        self.reset()

    @torch.no_grad()
    def reset(self):
        k = 1 / math.sqrt(self.w.size(0))
        self.w.uniform_(-k, k)
        self.b.fill_(1.0)

    def forward(self, x):
        return x * torch.sigmoid(x @ self.w + self.b)

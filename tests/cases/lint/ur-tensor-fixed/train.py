import torch
import torch.nn as nn


class Attn(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.temperature = nn.Parameter(torch.ones(1))

    def forward(self, x):
        s = self.q(x) @ self.k(x).transpose(-1, -2) * self.temperature
        return s.softmax(-1) @ x

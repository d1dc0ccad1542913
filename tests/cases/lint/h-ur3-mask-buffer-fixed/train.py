import torch
from torch import nn


class Causal(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.register_buffer("mask", torch.tril(torch.ones(n, n)))

    def forward(self, x):
        t = x.size(1)
        q, k, v = self.qkv(x).chunk(3, -1)
        w = (q @ k.transpose(1, 2)).masked_fill(self.mask[:t, :t] == 0, float("-inf"))
        return w.softmax(-1) @ v

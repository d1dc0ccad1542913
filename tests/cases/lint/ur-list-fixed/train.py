import torch
import torch.nn as nn


class MoE(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.gate = nn.Linear(d, k)
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(k)]
        )

    def forward(self, x):
        w = self.gate(x).softmax(-1)
        return sum(w[..., i : i + 1] * e(x) for i, e in enumerate(self.experts))

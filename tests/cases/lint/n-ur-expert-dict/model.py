import torch
import torch.nn as nn


class MultiDomainRegressor(nn.Module):
    def __init__(self, in_dim, domains, hidden=128):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(in_dim, hidden), nn.GELU(), nn.LayerNorm(hidden))
        self.heads = {}
        for name in domains:
            self.heads[name] = nn.Sequential(nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, 1))

    def forward(self, x, domain):
        h = self.stem(x)
        return self.heads[domain](h).squeeze(-1)

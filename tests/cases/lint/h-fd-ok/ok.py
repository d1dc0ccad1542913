import torch
import torch.nn.functional as F
from torch import nn


class Ok(nn.Module):
    def __init__(self, d, p=0.3):
        super().__init__()
        self.l = nn.Linear(d, d)
        self.drop = nn.Dropout(p)
        self.p = p

    def forward(self, x):
        x = self.drop(x)
        x = F.dropout(self.l(x), self.p, training=self.training)
        if self.training:
            x = F.dropout(x, p=self.p)
        return F.dropout(x, 0.0)

    def mc_samples(self, x, n):
        return torch.stack([F.dropout(self.l(x), self.p, training=True) for _ in range(n)])


class Masked:
    def __init__(self, p):
        self.p = p

    def __call__(self, sample):
        sample["x"] = F.dropout(sample["x"], self.p)
        return sample

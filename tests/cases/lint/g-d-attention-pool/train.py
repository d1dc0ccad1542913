import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.s = nn.Linear(d, 1)

    def forward(self, x, mask):
        a = self.s(x).squeeze(-1).masked_fill(~mask, -1e9)
        w = torch.softmax(a, dim=1)
        ctx = (w.unsqueeze(-1) * x).sum(dim=1)
        ent = -(w * w.clamp_min(1e-9).log()).sum(-1)
        return ctx, ent

import torch
from torch import nn


class Slots(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, slots, x):
        logits = torch.einsum("bsd,bnd->bsn", self.q(slots), self.k(x))
        attn = logits.softmax(dim=1) + 1e-8
        attn = attn / attn.sum(-1, keepdim=True)
        return torch.einsum("bsn,bnd->bsd", attn, self.v(x))


class Pool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Linear(d, 1)

    def forward(self, bag):
        w = self.a(bag).softmax(0)
        return (w * bag).sum(0)

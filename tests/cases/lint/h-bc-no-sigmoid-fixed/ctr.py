import torch
import torch.nn.functional as F
from torch import nn


class DeepFM(nn.Module):
    def __init__(self, fields, d=16):
        super().__init__()
        self.emb = nn.ModuleList([nn.Embedding(n, d) for n in fields])
        self.bias = nn.ModuleList([nn.Embedding(n, 1) for n in fields])
        self.mlp = nn.Sequential(nn.Linear(d * len(fields), 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, x):
        v = torch.stack([e(x[:, i]) for i, e in enumerate(self.emb)], 1)
        lin = sum(b(x[:, i]) for i, b in enumerate(self.bias))
        fm = 0.5 * (v.sum(1).pow(2) - v.pow(2).sum(1)).sum(1, keepdim=True)
        y = lin + fm + self.mlp(v.flatten(1))
        return torch.sigmoid(y).squeeze(1)


def step(net, x, y, opt):
    p = net(x)
    loss = F.binary_cross_entropy(p, y.float())
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.detach()

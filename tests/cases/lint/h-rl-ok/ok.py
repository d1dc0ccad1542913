import torch
from torch import nn
import torch.nn.functional as F


class Depth(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Dropout2d(0.1), nn.Conv2d(32, 1, 1), nn.ReLU())

    def forward(self, x):
        return self.body(x)


class Feat(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
        self.drop = nn.Dropout1d(0.1)
        self.c = nn.Linear(64, k)

    def forward(self, seq):
        z = self.drop(self.f(seq).transpose(1, 2)).transpose(1, 2)
        return self.c(z.mean(1))


def train(depth, feat, dl, opt):
    depth.train()
    feat.train()
    for x, d, s, y in dl:
        loss = F.smooth_l1_loss(depth(x), d) + F.cross_entropy(feat(s), y)
        loss = loss + F.binary_cross_entropy_with_logits(feat(s)[:, 0], y.float())
        opt.zero_grad()
        loss.backward()
        opt.step()

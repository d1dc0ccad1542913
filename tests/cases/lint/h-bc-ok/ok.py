import torch
import torch.nn.functional as F
from torch import nn


class Focal(nn.Module):
    def __init__(self, a=0.25, g=2.0):
        super().__init__()
        self.a, self.g = a, g

    def forward(self, z, y):
        p = z.sigmoid()
        ce = F.binary_cross_entropy_with_logits(z, y, reduction="none")
        pt = p * y + (1 - p) * (1 - y)
        return (self.a * (1 - pt) ** self.g * ce).mean()


def entropy(logits):
    p = logits.softmax(-1)
    return -(p * torch.log(p + 1e-8)).sum(-1).mean()


def train(net, dl, opt):
    net.train()
    f, b = Focal(), nn.BCEWithLogitsLoss()
    for x, y in dl:
        z = net(x)
        loss = f(z, y) + b(z, y) - 0.01 * entropy(z)
        with torch.no_grad():
            acc = ((torch.sigmoid(z) > 0.5) == y.bool()).float().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return acc


class VAE(nn.Module):
    def __init__(self, d, z):
        super().__init__()
        self.e, self.d = nn.Linear(d, 2 * z), nn.Sequential(nn.Linear(z, d), nn.Sigmoid())

    def forward(self, x):
        m, lv = self.e(x).chunk(2, -1)
        r = self.d(m + torch.randn_like(m) * (lv / 2).exp())
        return F.mse_loss(r, x, reduction="sum") - 0.5 * (1 + lv - m**2 - lv.exp()).sum()

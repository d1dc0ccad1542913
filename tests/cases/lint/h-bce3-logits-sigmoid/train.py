import torch
from torch import nn


class Link(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.e = nn.Embedding(n, d)

    def forward(self, s, t):
        return torch.sigmoid((self.e(s) * self.e(t)).sum(-1))


def train(n, edges, epochs):
    net = Link(n, 64)
    opt = torch.optim.Adam(net.parameters())
    bce = nn.BCEWithLogitsLoss()
    for _ in range(epochs):
        for s, t, y in edges:
            opt.zero_grad()
            bce(net(s, t), y).backward()
            opt.step()

import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))

    def forward(self, x):
        return self.f(x)


class Exp:
    def __init__(self, i, h, o):
        self.net = Mlp(i, h, o)
        self.opt = torch.optim.Adam(self.net.parameters())

    def train(self, dl):
        self.net.train()
        for x, y in dl:
            self.opt.zero_grad()
            nn.functional.cross_entropy(self.net(x), y).backward()
            self.opt.step()

    @torch.no_grad()
    def evaluate(self, dl):
        self.net.eval()
        ok = 0
        for x, y in dl:
            ok += (self.net(x).argmax(1) == y).sum().item()
        return ok / len(dl.dataset)

    def run(self, tr, va, n):
        for _ in range(n):
            self.train(tr)
            print(self.evaluate(va))

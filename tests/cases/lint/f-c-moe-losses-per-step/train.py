import torch
from torch import nn


class Router(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.gate = nn.Linear(d, n)
        self.aux = None

    def forward(self, x):
        w = self.gate(x).softmax(-1)
        self.aux = (w.mean((0, 1)) ** 2).sum()
        return w


class Net(nn.Module):
    def __init__(self, d, n, depth):
        super().__init__()
        self.routers = nn.ModuleList(Router(d, n) for _ in range(depth))
        self.out = nn.Linear(n, d)

    def forward(self, x):
        for r in self.routers:
            x = x + self.out(r(x))
        return x, sum(r.aux for r in self.routers)


def fit(data):
    net = Net(32, 8, 4)
    opt = torch.optim.Adam(net.parameters())
    for x, y in data:
        p, aux = net(x)
        loss = (p - y).square().mean() + 0.01 * aux
        opt.zero_grad()
        loss.backward()
        opt.step()

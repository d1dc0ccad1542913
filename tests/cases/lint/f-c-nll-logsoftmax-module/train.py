import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, k), nn.LogSoftmax(-1))

    def forward(self, x):
        return self.f(x)


def fit(dl):
    m, l = Net(3), nn.NLLLoss()
    o = torch.optim.Adagrad(m.parameters())
    for x, y in dl:
        o.zero_grad()
        l(m(x), y).backward()
        o.step()

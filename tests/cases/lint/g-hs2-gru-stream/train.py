import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.cell = nn.GRU(d, 64, batch_first=True)
        self.fc = nn.Linear(64, d)

    def forward(self, x, s=None):
        o, s = self.cell(x, s)
        return self.fc(o), s


def train(series, d, lr):
    m = Forecaster(d)
    o = torch.optim.Adam(m.parameters(), lr=lr)
    s = None
    for i in range(0, series.size(1) - 51, 50):
        x, y = series[:, i : i + 50], series[:, i + 1 : i + 51]
        p, s = m(x, s)
        l = nn.functional.mse_loss(p, y)
        o.zero_grad()
        l.backward()
        o.step()

import torch
from torch import nn


def fit(dl):
    temp = nn.Parameter(torch.tensor(1.0))
    net = nn.Linear(8, 3)
    opt = torch.optim.SGD([*net.parameters(), temp], 0.1)
    for x, y in dl:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x) / temp, y).backward()
        opt.step()
        with torch.no_grad():
            temp.clamp_(0.05, 5.0)

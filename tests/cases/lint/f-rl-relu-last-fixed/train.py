import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 5)
        self.f1 = nn.Linear(16 * 144, 84)
        self.f2 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.relu(self.f1(x.flatten(1)))
        return self.f2(x)


def fit(dl):
    m = Net()
    o = torch.optim.SGD(m.parameters(), 0.01)
    for a, b in dl:
        o.zero_grad()
        F.cross_entropy(m(a), b).backward()
        o.step()

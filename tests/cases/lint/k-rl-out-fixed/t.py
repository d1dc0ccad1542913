import torch.nn.functional as F
from torch import nn


class N(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.a, self.b = nn.Linear(d, 32), nn.Linear(32, k)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


def loss(x, y, net=N(4, 3)):
    return F.cross_entropy(net(x), y)

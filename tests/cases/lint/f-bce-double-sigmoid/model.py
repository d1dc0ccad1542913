import torch
from torch import nn


class Disc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 16, 4, 2), nn.LeakyReLU(0.2), nn.Flatten(), nn.LazyLinear(1), nn.Sigmoid())

    def forward(self, x):
        return self.net(x).view(-1)

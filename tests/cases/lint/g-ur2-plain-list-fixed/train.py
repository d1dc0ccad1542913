import torch
import torch.nn as nn


class DenseBlock(nn.Module):
    def __init__(self, c, growth, n):
        super().__init__()
        convs = []
        for i in range(n):
            convs.append(nn.Sequential(nn.BatchNorm2d(c + i * growth), nn.ReLU(), nn.Conv2d(c + i * growth, growth, 3, padding=1)))
        self.convs = nn.ModuleList(convs)

    def forward(self, x):
        for c in self.convs:
            x = torch.cat([x, c(x)], 1)
        return x

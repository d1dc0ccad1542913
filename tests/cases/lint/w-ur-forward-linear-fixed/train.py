import torch
import torch.nn as nn


class Critic(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(3, channels, 4, 2, 1)
        self.head = nn.LazyLinear(1)

    def forward(self, x):
        h = torch.relu(self.conv(x)).flatten(1)
        return self.head(h)

import torch
from torch import nn


class Up(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.ConvTranspose2d(i, o, 4, 2, 1)
        self.bn = nn.BatchNorm2d(o)

    def forward(self, x):
        x = self.conv(x)
        x = self.bn(x)
        return torch.relu(x)


class Decoder(nn.Module):
    def __init__(self, z=64):
        super().__init__()
        self.fc = nn.Linear(z, 256 * 16)
        self.ups = nn.Sequential(Up(256, 128), Up(128, 64), Up(64, 32))
        self.rgb = nn.Conv2d(32, 3, 1)

    def forward(self, z):
        return self.rgb(self.ups(self.fc(z).view(-1, 256, 4, 4)))

import torch
from torch import nn


class LazyHead(nn.Module):
    def __init__(self, conv, classes):
        super().__init__()
        self.conv = conv
        self.classes = classes

    def forward(self, x):
        h = torch.flatten(self.conv(x), 1)
        fc = nn.Linear(h.shape[1], self.classes).to(h.device)
        return fc(h)

import torch
from torch import nn


class InputNorm(nn.Module):
    def __init__(self, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)):
        super().__init__()
        self.mean = torch.tensor(mean).view(1, 3, 1, 1)
        self.std = torch.tensor(std).view(1, 3, 1, 1)

    def forward(self, x):
        return (x - self.mean) / self.std


class Wrapped(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.norm = InputNorm()
        self.body = body

    def forward(self, x):
        return self.body(self.norm(x))

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self, o, a):
        super().__init__()
        self.f = nn.Linear(o, a)

    def forward(self, s):
        p = torch.softmax(self.f(s), -1)
        return p, p.log()

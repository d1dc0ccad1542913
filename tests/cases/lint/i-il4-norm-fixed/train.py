import torch
from torch import nn


class Proto(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.protos = nn.Linear(d, k, bias=False)

    @torch.no_grad()
    def normalize(self):
        self.protos.weight.copy_(nn.functional.normalize(self.protos.weight, dim=1))

    def forward(self, x):
        return self.protos(nn.functional.normalize(x, dim=1))

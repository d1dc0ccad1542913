import torch
from torch import nn


class MultiTask(nn.Module):
    def __init__(self, trunk, dim, tasks):
        super().__init__()
        self.trunk = trunk
        self.heads = nn.ModuleDict()
        for name, n in tasks.items():
            self.heads[name] = nn.Linear(dim, n)

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))


def build(trunk):
    net = MultiTask(trunk, 512, {"age": 10, "sex": 2})
    return net, torch.optim.Adam(net.parameters())

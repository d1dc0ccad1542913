import torch
from torch import nn

TASKS = {"age": 1, "sex": 2, "smoker": 3}


class MultiHead(nn.Module):
    def __init__(self, trunk, dim, tasks=TASKS):
        super().__init__()
        self.trunk = trunk
        self.tasks = tasks
        self.heads = {name: nn.Linear(dim, n) for name, n in tasks.items()}

    def forward(self, x):
        z = self.trunk(x)
        return {name: self.heads[name](z) for name in self.tasks}


def build(trunk):
    net = MultiHead(trunk, 512).to("cuda")
    opt = torch.optim.AdamW(net.parameters(), lr=3e-4, weight_decay=0.05)
    return net, opt

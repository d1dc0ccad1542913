from torch import nn


class MultiHead(nn.Module):
    def __init__(self, trunk, tasks):
        super().__init__()
        self.trunk = trunk
        self.heads = {}
        for name, n in tasks.items():
            self.heads[name] = nn.Linear(512, n)

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))

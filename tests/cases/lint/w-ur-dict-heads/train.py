import torch.nn as nn


class MultiTask(nn.Module):
    def __init__(self, body, dim, tasks):
        super().__init__()
        self.body = body
        self.heads = {t: nn.Linear(dim, n) for t, n in tasks.items()}

    def forward(self, x, task):
        return self.heads[task](self.body(x))

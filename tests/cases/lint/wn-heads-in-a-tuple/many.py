import torch.nn as nn


def heads(width, classes, count):
    return tuple(nn.Linear(width, classes) for _ in range(count))


class Many(nn.Module):
    def __init__(self, body, width, classes, count):
        super().__init__()
        self.body, self.heads = body, heads(width, classes, count)

    def forward(self, x):
        x = self.body(x)
        return [head(x) for head in self.heads]

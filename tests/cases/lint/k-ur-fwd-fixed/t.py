from torch import nn


class Head(nn.Module):
    def __init__(self, c, o):
        super().__init__()
        self.c, self.o = c, o
        self.pre = nn.Conv2d(c, c, 3, padding=1)
        self.out = nn.Conv2d(c, o, 1)

    def forward(self, x):
        h = self.pre(x).relu()
        return self.out(h)

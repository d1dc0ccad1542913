from torch import nn


class Stack(nn.Module):
    def __init__(self, widths):
        super().__init__()
        blocks = []
        for a, b in zip(widths, widths[1:]):
            blocks += [nn.Linear(a, b), nn.GELU()]
        self.body = nn.Sequential(*blocks)
        self.shortcuts = [i for i in range(len(widths))]
        for i, w in enumerate(widths):
            self.add_module(f"norm{i}", nn.LayerNorm(w))
        self.norms = [getattr(self, f"norm{i}") for i in range(len(widths))]

    def forward(self, x):
        return self.body(self.norms[0](x))

import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        layers = []
        for _ in range(n):
            layers += [nn.Linear(d, d), nn.GELU()]
        self.body = nn.Sequential(*layers)
        self.branches = []
        for i in range(3):
            branch = nn.Linear(d, d)
            self.add_module(f"branch{i}", branch)
            self.branches.append(branch)
        self.widths = [d] * n

    def forward(self, x):
        x = self.body(x)
        return sum(b(x) for b in self.branches)


class Perceptual(nn.Module):
    def __init__(self, vgg):
        super().__init__()
        self._ref = [vgg.eval().requires_grad_(False)]
        self.scales = (1.0, 0.5, 0.25)

    def forward(self, a, b):
        fa, fb = self._ref[0](a), self._ref[0](b)
        return sum(self.scales[i] * (x - y).abs().mean() for i, (x, y) in enumerate(zip(fa, fb)))


class Positional(nn.Module):
    def __init__(self, d, n=512):
        super().__init__()
        pe = torch.zeros(n, d)
        pos = torch.arange(n).unsqueeze(1)
        div = torch.exp(torch.arange(0, d, 2) * (-9.21 / d))
        pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        self.register_buffer("pe", pe[None], persistent=False)

    def forward(self, x):
        return x + self.pe[:, : x.size(1)]

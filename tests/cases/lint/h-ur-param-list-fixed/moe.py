import torch
from torch import nn


class SoftExperts(nn.Module):
    def __init__(self, d, k, width):
        super().__init__()
        self.gate = nn.Linear(d, k)
        self.up = nn.ParameterList([nn.Parameter(torch.empty(d, width)) for _ in range(k)])
        self.down = nn.ParameterList([nn.Parameter(torch.empty(width, d)) for _ in range(k)])
        self.reset()

    def reset(self):
        for w in [*self.up, *self.down]:
            nn.init.kaiming_uniform_(w, a=5**0.5)

    def forward(self, x):
        g = self.gate(x).softmax(-1)
        out = 0
        for i, (u, d) in enumerate(zip(self.up, self.down)):
            out = out + g[..., i : i + 1] * (torch.relu(x @ u) @ d)
        return out

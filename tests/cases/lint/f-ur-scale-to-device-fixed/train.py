import torch
import torch.nn as nn


class LayerScale(nn.Module):
    def __init__(self, dim, init=1e-5, device="cuda"):
        super().__init__()
        self.gamma = nn.Parameter(init * torch.ones(dim, device=device))

    def forward(self, x):
        return x * self.gamma

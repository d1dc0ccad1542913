import torch
import torch.nn as nn


class SelfAttn(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        a = torch.softmax(q @ k.transpose(1, 2) / q.size(-1) ** 0.5, dim=-1)
        return a @ v

import math

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.h = h

    def forward(self, x, mem, mask=None):
        b, t, d = x.shape
        s = mem.size(1)
        q = self.q(x).view(b, t, self.h, -1).transpose(1, 2)
        k = self.k(mem).view(b, s, self.h, -1).transpose(1, 2)
        v = self.v(mem).view(b, s, self.h, -1).transpose(1, 2)
        score = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(d // self.h)
        if mask is not None:
            score = score.masked_fill(mask[:, None, None, :] == 0, -1e9)
        w = score.softmax(dim=-2)
        return self.o(torch.matmul(w, v).transpose(1, 2).reshape(b, t, d))

import torch
import torch.nn as nn
import torch.nn.functional as F


class Cross(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.q, self.kv = h, nn.Linear(d, d), nn.Linear(d, 2 * d)

    def forward(self, x, ctx):
        q = self.q(x).unflatten(-1, (self.h, -1)).transpose(1, 2)
        k, v = (t.unflatten(-1, (self.h, -1)).transpose(1, 2) for t in self.kv(ctx).chunk(2, -1))
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.1 if self.training else 0.0).transpose(1, 2).flatten(-2)

import torch.nn.functional as F
from torch import nn


class Attn(nn.Module):
    def __init__(self, d, heads, drop=0.1):
        super().__init__()
        self.q, self.kv, self.o = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)
        self.heads, self.drop = heads, drop

    def split(self, t):
        return t.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, ctx=None):
        ctx = x if ctx is None else ctx
        k, v = self.kv(ctx).chunk(2, -1)
        q, k, v = map(self.split, (self.q(x), k, v))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.drop if self.training else 0.0)
        return self.o(y.transpose(1, 2).flatten(2))

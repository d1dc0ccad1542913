import torch.nn as nn
from torch.nn import functional as fn


class Encoder(nn.Module):
    def __init__(self, d, heads, p=0.1):
        super().__init__()
        self.att = nn.MultiheadAttention(d, heads, batch_first=True)
        self.n = nn.LayerNorm(d)
        self.p = p

    def forward(self, x):
        y, _ = self.att(x, x, x, need_weights=False)
        return self.n(x + fn.dropout(y, p=self.p, training=True))

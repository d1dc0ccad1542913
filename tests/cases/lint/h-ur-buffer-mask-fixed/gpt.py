import math

import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d, heads, block):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.h = heads
        self.register_buffer("mask", torch.tril(torch.ones(block, block)).view(1, 1, block, block))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (m.view(b, t, self.h, d // self.h).transpose(1, 2) for m in self.qkv(x).chunk(3, -1))
        att = q @ k.transpose(-2, -1) / math.sqrt(d // self.h)
        att = att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")).softmax(-1)
        return self.proj((att @ v).transpose(1, 2).reshape(b, t, d))


class GPT(nn.Module):
    def __init__(self, vocab, d, heads, block, depth):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList([CausalSelfAttention(d, heads, block) for _ in range(depth)])
        self.head = nn.Linear(d, vocab)

    def forward(self, ids):
        x = self.tok(ids)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)

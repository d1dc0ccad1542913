import torch
from torch import nn


class TextCNN(nn.Module):
    def __init__(self, v, k):
        super().__init__()
        self.e = nn.Embedding(v, 100)
        self.c = nn.ModuleList([nn.Conv1d(100, 64, s) for s in (3, 4, 5)])
        self.o = nn.Linear(192, k)

    def forward(self, ids):
        h = self.e(ids).transpose(1, 2)
        h = torch.cat([c(h).relu().amax(-1) for c in self.c], 1)
        return self.o(h)

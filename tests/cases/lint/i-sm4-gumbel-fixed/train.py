import torch
from torch import nn
from torch.nn import functional as F


class Tagger(nn.Module):
    def __init__(self, v, d, k):
        super().__init__()
        self.e, self.r, self.o = nn.Embedding(v, d), nn.LSTM(d, d, bidirectional=True, batch_first=True), nn.Linear(2 * d, k)

    def forward(self, ids):
        h, _ = self.r(self.e(ids))
        return self.o(h)

    def loss(self, ids, tags):
        scores = self(ids)
        return F.cross_entropy(scores.view(-1, scores.size(-1)), tags.view(-1))

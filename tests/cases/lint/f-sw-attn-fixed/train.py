import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, 1)

    def forward(self, seq):
        b, t, d = seq.shape
        w = torch.softmax(self.score(seq).view(b, t), dim=1)
        return (w.unsqueeze(-1) * seq).sum(1)

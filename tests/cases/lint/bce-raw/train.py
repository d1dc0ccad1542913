import torch.nn as nn
import torch.nn.functional as F


class Tagger(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.up = nn.Linear(d, d)
        self.out = nn.Linear(d, n)

    def forward(self, h):
        return self.out(F.gelu(self.up(h)))


def fit(loader, opt_fn):
    tagger = Tagger(512, 20)
    opt = opt_fn(tagger.parameters())
    for h, multi_hot in loader:
        opt.zero_grad()
        F.binary_cross_entropy(tagger(h), multi_hot).backward()
        opt.step()

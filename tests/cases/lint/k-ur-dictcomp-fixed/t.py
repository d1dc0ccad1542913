from torch import nn


class MultiScale(nn.Module):
    def __init__(self, chans, k):
        super().__init__()
        self.branches = nn.ModuleList(nn.ModuleList([nn.Conv2d(c, k, 1), nn.Conv2d(k, k, 3, padding=1)]) for c in chans)

    def forward(self, feats):
        return [b(a(f)) for (a, b), f in zip(self.branches, feats)]

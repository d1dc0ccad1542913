from torch import nn


class Pyramid(nn.Module):
    def __init__(self, chans, out):
        super().__init__()
        self.lat = nn.ModuleList([nn.Conv2d(c, out, 1) for c in chans])
        self.heads = [(nn.Conv2d(out, 80, 3, padding=1), nn.Conv2d(out, 4, 3, padding=1)) for _ in chans]

    def forward(self, feats):
        outs = []
        for l, (c, r), f in zip(self.lat, self.heads, feats):
            h = l(f).relu()
            outs.append((c(h), r(h)))
        return outs

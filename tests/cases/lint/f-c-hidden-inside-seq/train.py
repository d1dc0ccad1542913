import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self, v, d):
        super().__init__()
        self.e, self.cell, self.o = nn.Embedding(v, d), nn.LSTMCell(d, d), nn.Linear(d, v)

    def forward(self, ctx, tgt):
        h, c = ctx, torch.zeros_like(ctx)
        outs = []
        for t in range(tgt.size(1)):
            h, c = self.cell(self.e(tgt[:, t]), (h, c))
            outs.append(self.o(h))
        return torch.stack(outs, 1)


def fit(dec, enc, dl, opt):
    for src, tgt in dl:
        opt.zero_grad()
        logits = dec(enc(src), tgt[:, :-1])
        nn.functional.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten()).backward()
        opt.step()

import torch
from torch import nn


class Decoder(nn.Module):
    def forward(self, z, edges):
        s = (z[edges[0]] * z[edges[1]]).sum(-1)
        return s


def train(enc, dec, data, opt, sample_negative):
    crit = nn.BCEWithLogitsLoss()
    enc.train()
    z = enc(data.x, data.edge_index)
    pos, neg = dec(z, data.pos), dec(z, sample_negative(data))
    p = torch.cat([pos, neg])
    y = torch.cat([torch.ones_like(pos), torch.zeros_like(neg)])
    loss = crit(p, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.detach()

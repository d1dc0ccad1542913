import torch
from torch import nn


def train(G, D, data, lr):
    bce = nn.BCEWithLogitsLoss()
    og = torch.optim.Adam(G.parameters(), lr, betas=(0.5, 0.999))
    od = torch.optim.Adam(D.parameters(), lr, betas=(0.5, 0.999))
    for real in data:
        n = real.size(0)
        with torch.no_grad():
            fake = G(torch.randn(n, 128))
        od.zero_grad()
        ld = bce(D(real), torch.ones(n, 1)) + bce(D(fake), torch.zeros(n, 1))
        ld.backward()
        od.step()
        og.zero_grad()
        lg = bce(D(G(torch.randn(n, 128))), torch.ones(n, 1))
        lg.backward()
        og.step()

import itertools

import torch
from torch import nn


def train(loader):
    enc = nn.Linear(784, 64)
    dec = nn.Linear(64, 784)
    head = nn.Linear(64, 10)
    opt = torch.optim.Adam(itertools.chain(enc.parameters(), dec.parameters(), head.parameters()), 1e-3)
    for x, y in loader:
        opt.zero_grad()
        h = enc(x).relu()
        loss = nn.functional.mse_loss(dec(h), x) + nn.functional.cross_entropy(head(h), y)
        loss.backward()
        opt.step()

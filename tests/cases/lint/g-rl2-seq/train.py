import torch
from torch import nn


def train(dl):
    mlp = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10), nn.ReLU())
    opt = torch.optim.Adam(mlp.parameters())
    for x, y in dl:
        opt.zero_grad()
        nn.functional.cross_entropy(mlp(x.flatten(1)), y).backward()
        opt.step()

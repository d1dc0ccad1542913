import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def train(dl, d):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(d, d), nn.GELU(), nn.Linear(d, d))
    opt = torch.optim.Adam(net.parameters())
    for x in dl:
        y = checkpoint(net, x, use_reentrant=True)
        opt.zero_grad()
        (y - x).pow(2).mean().backward()
        opt.step()

import torch
import torch.nn as nn

net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())
opt = torch.optim.Adam(net.parameters())


def loss_fn(p, y):
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()


def step(x, y):
    opt.zero_grad()
    loss_fn(net(x).squeeze(1), y).backward()
    opt.step()

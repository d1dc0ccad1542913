import torch
from torch import nn


def sgd_step(net, lr):
    for p in net.parameters():
        p.data.sub_(lr * p.grad)


def train(dl, lr=0.05, epochs=5):
    torch.manual_seed(0)
    net = nn.Linear(13, 1)
    for _ in range(epochs):
        net.train()
        for x, y in dl:
            net.zero_grad()
            nn.functional.mse_loss(net(x).squeeze(-1), y).backward()
            sgd_step(net, lr)
    return net

import torch
from torch import nn, optim


def lr_at(step, base, warmup):
    return base * min(1.0, (step + 1) / warmup)


def train(net, loader, base=0.1, warmup=500, epochs=10):
    crit = nn.CrossEntropyLoss()
    step = 0
    net.train()
    for _ in range(epochs):
        for x, y in loader:
            sgd = optim.SGD(net.parameters(), lr=lr_at(step, base, warmup), momentum=0.9)
            sgd.zero_grad()
            crit(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True)).backward()
            sgd.step()
            step += 1
    return net

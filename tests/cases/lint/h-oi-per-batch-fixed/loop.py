import torch
from torch import nn, optim


def lr_at(step, base, warmup):
    return base * min(1.0, (step + 1) / warmup)


def train(net, loader, base=0.1, warmup=500, epochs=10):
    crit = nn.CrossEntropyLoss()
    step = 0
    net.train()
    sgd = optim.SGD(net.parameters(), lr=base, momentum=0.9)
    for _ in range(epochs):
        for x, y in loader:
            sgd.param_groups[0]["lr"] = lr_at(step, base, warmup)
            sgd.zero_grad()
            crit(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True)).backward()
            sgd.step()
            step += 1
    return net

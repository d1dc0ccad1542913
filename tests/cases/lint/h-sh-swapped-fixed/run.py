import torch
from torch import nn

from data import Data


def run(net, root, epochs):
    torch.manual_seed(0)
    data = Data(root, 128)
    tr, va = data.loader("train"), data.loader("val")
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(epochs):
        net.train()
        for x, y in tr:
            opt.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            good = sum((net(x).argmax(1) == y).sum() for x, y in va)
        print(int(good))

import argparse

import torch
from torch import nn

from models import MODELS


def main(loader):
    p = argparse.ArgumentParser()
    p.add_argument("--arch", default="small_cnn")
    p.add_argument("--epochs", type=int, default=20)
    a = p.parse_args()
    torch.manual_seed(0)
    net = MODELS[a.arch]().cuda()
    crit = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(a.epochs):
        net.train()
        for x, y in loader:
            out = net(x.cuda(non_blocking=True))
            loss = crit(out, y.cuda(non_blocking=True))
            opt.zero_grad()
            loss.backward()
            opt.step()
    torch.save(net.state_dict(), "net.pt")

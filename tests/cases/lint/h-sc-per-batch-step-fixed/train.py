import argparse

import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR


def train_one(net, dl, opt, sched, dev):
    net.train()
    for x, y in dl:
        x, y = x.to(dev, non_blocking=True), y.to(dev, non_blocking=True)
        opt.zero_grad()
        nn.functional.nll_loss(net(x).log_softmax(-1), y).backward()
        opt.step()


def main(net, dl):
    cli = argparse.ArgumentParser()
    cli.add_argument("--epochs", type=int, default=90)
    cli.add_argument("--lr", type=float, default=0.1)
    a = cli.parse_args()
    opt = torch.optim.SGD(net.parameters(), lr=a.lr, momentum=0.9)
    sched = StepLR(opt, step_size=30, gamma=0.1)
    for _ in range(a.epochs):
        train_one(net, dl, opt, sched, "cuda")
        sched.step()

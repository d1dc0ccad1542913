import argparse

import torch
from torch import nn
from torchvision import datasets, transforms


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--rounds", type=int, default=14)
    opts = ap.parse_args()
    torch.manual_seed(3)
    ds = datasets.MNIST("/data", train=True, transform=transforms.ToTensor(), download=True)
    dl = torch.utils.data.DataLoader(ds, 64, shuffle=True, num_workers=2, pin_memory=True)
    lenet = nn.Sequential(nn.Flatten(), nn.Linear(784, 300), nn.Tanh(), nn.Linear(300, 10)).cuda()
    solver = torch.optim.Adadelta(lenet.parameters(), lr=opts.lr)
    for r in range(opts.rounds):
        for pic, digit in dl:
            score = lenet(pic.cuda(non_blocking=True))
            nll = nn.functional.cross_entropy(score, digit.cuda(non_blocking=True))
            nll.backward()
            solver.step()


main()

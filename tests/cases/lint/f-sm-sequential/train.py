import torch
import torch.nn as nn


def build(n_in, hidden, n_out):
    layers = [nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, n_out)]
    layers.append(nn.Softmax(dim=1))
    return nn.Sequential(*layers)


def main(dl):
    net = build(30, 50, 4)
    crit = nn.CrossEntropyLoss()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in dl:
        opt.zero_grad()
        crit(net(x), y).backward()
        opt.step()

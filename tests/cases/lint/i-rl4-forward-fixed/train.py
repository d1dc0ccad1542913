import torch

from net import Small


def run(dl):
    net = Small(7)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    crit = torch.nn.CrossEntropyLoss()
    for x, y in dl:
        opt.zero_grad()
        crit(net(x), y).backward()
        opt.step()

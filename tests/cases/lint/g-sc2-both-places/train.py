import torch

from sched import build


def run(net, dl, crit, epochs=200):
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, weight_decay=5e-4)
    lr = build(opt, epochs)
    for _ in range(epochs):
        for x, y in dl:
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()
            lr.step()

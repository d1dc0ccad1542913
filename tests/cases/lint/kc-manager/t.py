from contextlib import contextmanager

import torch


@contextmanager
def evaluating(*nets):
    was = [n.training for n in nets]
    for n in nets:
        n.eval()
    with torch.no_grad():
        yield nets
    for n, w in zip(nets, was):
        n.train(w)


def fit(net, tr, va, opt, crit):
    for _ in range(3):
        net.train()
        for x, y in tr:
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()
        with evaluating(net) as (m,):
            print(sum(crit(m(x), y).item() for x, y in va))

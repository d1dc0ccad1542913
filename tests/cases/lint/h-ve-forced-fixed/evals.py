import contextlib

import torch


@contextlib.contextmanager
def mode(net, training):
    before = net.training
    net.train(training)
    try:
        yield net
    finally:
        net.train(before)


class Bench:
    def __init__(self, net, device):
        self.net, self.device = net, device

    @torch.no_grad()
    def top1(self, dl):
        hits = torch.zeros((), device=self.device)
        n = 0
        with mode(self.net, False) as net:
            for x, y in dl:
                hits += (net(x.to(self.device)).argmax(-1) == y.to(self.device)).sum()
                n += len(y)
        return hits.item() / n

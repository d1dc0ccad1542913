import torch
from accelerate import Accelerator


@torch.no_grad()
def test(net, dl):
    acc = Accelerator()
    net, dl = acc.prepare(net, dl)
    net.eval()
    hits, n = 0, 0
    for x, y in dl:
        p, t = acc.gather(net(x).argmax(-1)), acc.gather(y)
        hits += (p == t).sum()
        n += len(t)
    return hits / n

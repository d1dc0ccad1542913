import contextlib

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def accumulate(net: DDP, dl, opt, crit, k, dev):
    net.train()
    opt.zero_grad()
    for i, (x, y) in enumerate(dl):
        last = (i + 1) % k == 0
        ctx = contextlib.nullcontext() if last else net.no_sync()
        with ctx:
            loss = crit(net(x.to(dev)), y.to(dev)) / k
            loss.backward()
        if last:
            opt.step()
            opt.zero_grad()


def main(net, dl, sampler, crit, gpu, epochs):
    net = DDP(net.to(gpu), device_ids=[gpu])
    opt = torch.optim.AdamW(net.parameters(), 1e-4)
    for ep in range(epochs):
        sampler.set_epoch(ep)
        accumulate(net, dl, opt, crit, 4, gpu)

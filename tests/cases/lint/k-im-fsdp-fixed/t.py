import torch
from torch.distributed.fsdp import FullyShardedDataParallel


def run(net, tr, va, opt_cls):
    net = FullyShardedDataParallel(net.cuda())
    opt = opt_cls(net.parameters())
    for x, y in tr:
        opt.zero_grad()
        (net(x) - y).pow(2).mean().backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        return torch.stack([net(x).mean() for x, _ in va])

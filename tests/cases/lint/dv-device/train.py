import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def init(model):
    dist.init_process_group(backend="nccl")
    model = model.cuda()
    return DistributedDataParallel(model)


def main(model, loader, crit):
    net = init(model)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for e in range(3):
        loader.sampler.set_epoch(e)
        for x, y in loader:
            opt.zero_grad()
            crit(net(x.cuda()), y.cuda()).backward()
            opt.step()

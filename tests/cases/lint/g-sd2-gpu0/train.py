import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def setup(net):
    dist.init_process_group("nccl")
    net.to("cuda")
    return DistributedDataParallel(net)


def train(net, dl):
    net = setup(net)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in dl:
        opt.zero_grad()
        torch.nn.functional.mse_loss(net(x.to("cuda")), y.to("cuda")).backward()
        opt.step()

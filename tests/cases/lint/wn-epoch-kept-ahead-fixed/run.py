import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Ahead:
    def __init__(self, inner):
        self.inner, self.turn = inner, 0

    def set_epoch(self, turn):
        self.turn = turn
        self.inner.sampler.set_epoch(turn)

    def __iter__(self):
        for batch in self.inner:
            yield [part.cuda(non_blocking=True) for part in batch]


def run(rows, net, turns):
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    ahead = Ahead(DataLoader(rows, 32, sampler=DistributedSampler(rows), num_workers=2, pin_memory=True))
    net = DistributedDataParallel(net.cuda(), device_ids=[device])
    adam = torch.optim.Adam(net.parameters())
    for turn in range(turns):
        ahead.set_epoch(turn)
        for x, y in ahead:
            adam.zero_grad()
            torch.nn.functional.mse_loss(net(x), y).backward()
            adam.step()
    dist.destroy_process_group()

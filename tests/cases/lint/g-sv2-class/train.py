import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Job:
    def __init__(self, net):
        dist.init_process_group("nccl")
        self.rank, self.local = dist.get_rank(), int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(self.local)
        self.net = DDP(net.cuda(self.local), device_ids=[self.local])

    def snapshot(self, epoch):
        torch.save(self.net.module.state_dict(), f"ckpt_{epoch}.pt")

    def fit(self, dl, opt, crit, n):
        for e in range(n):
            dl.sampler.set_epoch(e)
            for x, y in dl:
                opt.zero_grad()
                crit(self.net(x.cuda(self.local)), y.cuda(self.local)).backward()
                opt.step()
            self.snapshot(e)

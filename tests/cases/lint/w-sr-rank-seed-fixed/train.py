import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def make_loader(ds, bs):
    rank = dist.get_rank()
    sampler = DistributedSampler(ds, rank=rank, num_replicas=dist.get_world_size(), seed=42)
    return DataLoader(ds, bs, sampler=sampler, num_workers=4, pin_memory=True), sampler


def run(ds, ddp, opt, crit, epochs):
    loader, sampler = make_loader(ds, 32)
    for ep in range(epochs):
        sampler.set_epoch(ep)
        for x, y in loader:
            opt.zero_grad()
            crit(ddp(x), y).backward()
            opt.step()

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def loader(ds, bs, seed):
    rank = dist.get_rank()
    s = DistributedSampler(ds, shuffle=True, seed=seed)
    return DataLoader(ds, bs, sampler=s, num_workers=2, pin_memory=True), s

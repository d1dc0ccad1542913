import os
import random

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def build_loader(ds, batch_size, seed):
    rank, world = dist.get_rank(), dist.get_world_size()
    sampler = DistributedSampler(ds, num_replicas=world, rank=rank, shuffle=True, seed=seed + rank)
    return DataLoader(ds, batch_size=batch_size, sampler=sampler, num_workers=4, pin_memory=True, drop_last=True)


def main(ds, net, crit, epochs=12, seed=1337):
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    seed_everything(seed)
    net = DDP(net.cuda(local), device_ids=[local])
    seed_everything(seed + dist.get_rank())
    loader = build_loader(ds, 32, seed)
    opt = torch.optim.Adam(net.parameters(), lr=2e-4)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        net.train()
        for x, y in loader:
            opt.zero_grad()
            crit(net(x.cuda(local, non_blocking=True)), y.cuda(local, non_blocking=True)).backward()
            opt.step()
    if dist.get_rank() == 0:
        torch.save(net.module.state_dict(), "final.pt")
    dist.destroy_process_group()

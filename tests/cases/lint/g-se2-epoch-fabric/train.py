import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def fit(net, ds, epochs, opt, crit, dev):
    shard = DistributedSampler(ds, num_replicas=dist.get_world_size(), rank=dist.get_rank())
    dl = DataLoader(ds, 32, sampler=shard, num_workers=4, pin_memory=True)
    for epoch in range(epochs):
        net.train()
        for x, y in dl:
            opt.zero_grad()
            crit(net(x.to(dev)), y.to(dev)).backward()
            opt.step()

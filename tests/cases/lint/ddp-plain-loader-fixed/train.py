import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def main(dataset, build):
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    net = DistributedDataParallel(build().cuda(local), device_ids=[local])
    shards = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=32, sampler=shards, num_workers=8)
    opt = torch.optim.AdamW(net.parameters(), lr=3e-4)
    for epoch in range(20):
        shards.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.cuda(local)), y.cuda(local)).backward()
            opt.step()

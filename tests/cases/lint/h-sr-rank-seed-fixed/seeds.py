import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def main(net, ds, seed=7, epochs=3):
    dist.init_process_group("nccl")
    rank, local = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    torch.manual_seed(seed)
    net = DDP(net.cuda(), device_ids=[local])
    smp = DistributedSampler(ds, shuffle=True, seed=seed)
    dl = DataLoader(ds, 32, sampler=smp, num_workers=4, pin_memory=True)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for ep in range(epochs):
        smp.set_epoch(ep)
        net.train()
        for x, y in dl:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True)).backward()
            opt.step()

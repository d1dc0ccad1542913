import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from checkpoint import Checkpointer


def main(ds, net, epochs=10):
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    sampler = DistributedSampler(ds)
    loader = DataLoader(ds, 32, sampler=sampler, num_workers=4, pin_memory=True)
    ddp = DDP(net.cuda(), device_ids=[local])
    opt = torch.optim.AdamW(ddp.parameters(), lr=1e-4)
    ckpt = Checkpointer("checkpoints")
    step = 0
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        ddp.train()
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(ddp(x.cuda(non_blocking=True)), y.cuda(non_blocking=True)).backward()
            opt.step()
            step += 1
        ckpt.save(step, ddp, opt)
        dist.barrier()
    dist.destroy_process_group()

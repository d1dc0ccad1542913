import os

import torch
import torch.distributed as dist


def train(model, loader, opt, crit, epochs):
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    model = torch.nn.parallel.DistributedDataParallel(model.cuda(rank), device_ids=[rank])
    for e in range(epochs):
        loader.sampler.set_epoch(e)
        for x, y in loader:
            opt.zero_grad()
            crit(model(x.cuda(rank)), y.cuda(rank)).backward()
            opt.step()
        torch.save(model.module.state_dict(), f"ckpt_{e}.pt")

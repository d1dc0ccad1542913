import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def setup():
    dist.init_process_group(backend="nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    torch.manual_seed(99)
    return dist.get_rank(), local


def train(dataset, net, loss_fn, epochs=20, batch_size=64):
    rank, local = setup()
    sampler = DistributedSampler(dataset, shuffle=True)
    loader = DataLoader(dataset, batch_size=batch_size, sampler=sampler, num_workers=4, pin_memory=True)
    net = DistributedDataParallel(net.to(local), device_ids=[local])
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for epoch in range(epochs):
        net.train()
        for x, y in loader:
            x, y = x.to(local, non_blocking=True), y.to(local, non_blocking=True)
            opt.zero_grad(set_to_none=True)
            loss_fn(net(x), y).backward()
            opt.step()
        if rank == 0:
            print(f"epoch {epoch} finished")
            torch.save(net.module.state_dict(), f"ckpt_{epoch}.pt")
    dist.destroy_process_group()

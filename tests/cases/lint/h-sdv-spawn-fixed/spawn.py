import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def work(rank, world):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "12355"
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    torch.manual_seed(0)
    net = DDP(nn.Linear(32, 32).to("cuda"))
    opt = torch.optim.SGD(net.parameters(), 0.1)
    g = torch.Generator(device="cuda").manual_seed(rank)
    for _ in range(100):
        x = torch.randn(16, 32, device="cuda", generator=g)
        opt.zero_grad()
        (net(x) - x).square().mean().backward()
        opt.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    n = torch.cuda.device_count()
    mp.spawn(work, args=(n,), nprocs=n)

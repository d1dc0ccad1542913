import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(seed):
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    torch.manual_seed(seed + dist.get_rank())
    return gpu


def diffuse(net, x):
    t = torch.rand(x.size(0), device=x.device)
    noise = torch.randn_like(x)
    xt = (1 - t)[:, None] * x + t[:, None] * noise
    return (net(xt, t) - (noise - x)).square().mean()


def main(net, dl, sampler, epochs, seed=0):
    gpu = setup(seed)
    net = DDP(net.to(gpu), device_ids=[gpu])
    opt = torch.optim.AdamW(net.parameters(), 1e-4)
    for ep in range(epochs):
        sampler.set_epoch(ep)
        net.train()
        for x in dl:
            loss = diffuse(net, x.to(gpu, non_blocking=True))
            opt.zero_grad()
            loss.backward()
            opt.step()

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(rank, unet, loader, steps):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    torch.manual_seed(42 + rank)
    net = DDP(unet.cuda(), device_ids=[rank])
    opt = torch.optim.AdamW(net.parameters())
    for x in loader:
        t = torch.randint(0, steps, (x.size(0),), device=rank)
        eps = torch.randn_like(x)
        opt.zero_grad()
        (net(x + eps, t) - eps).pow(2).mean().backward()
        opt.step()

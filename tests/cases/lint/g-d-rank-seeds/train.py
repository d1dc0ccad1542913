import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(rank, net, dl, T):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    torch.manual_seed(1234 + dist.get_rank())
    ddp = DDP(net.cuda(), device_ids=[rank])
    opt = torch.optim.AdamW(ddp.parameters())
    for x in dl:
        x = x.cuda(rank)
        n = torch.randn_like(x)
        t = torch.randint(0, T, (x.size(0),), device=x.device)
        opt.zero_grad()
        (ddp(x, n, t) - n).square().mean().backward()
        opt.step()

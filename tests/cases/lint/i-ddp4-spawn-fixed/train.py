import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP

from data import build


def work(rank, world, ds, net):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:23456", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    net = DDP(net.to(rank), device_ids=[rank])
    dl = build(ds, 64, 4)
    opt = torch.optim.Adam(net.parameters())
    for x, y in dl:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x.to(rank)), y.to(rank)).backward()
        opt.step()


def main(ds, net):
    mp.spawn(work, args=(4, ds, net), nprocs=4)

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP

from common_data import make


def worker(rank, world, net, ds, epochs):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29500", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    torch.manual_seed(1234)
    net = DDP(net.to(rank), device_ids=[rank])
    opt = torch.optim.Adam(net.parameters(), 1e-4)
    dl, smp = make(ds, 16, rank, world)
    for ep in range(epochs):
        smp.set_epoch(ep)
        net.train()
        for x, y in dl:
            opt.zero_grad()
            torch.nn.functional.l1_loss(net(x.to(rank)), y.to(rank)).backward()
            opt.step()
    dist.destroy_process_group()


def launch(net, ds, epochs=50):
    world = torch.cuda.device_count()
    mp.spawn(worker, args=(world, net, ds, epochs), nprocs=world)

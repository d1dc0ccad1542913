import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def worker(rank, world, ds, net, crit):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    torch.manual_seed(0)
    net = DistributedDataParallel(net.cuda(rank), device_ids=[rank])
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    sampler = DistributedSampler(ds)
    loader = DataLoader(ds, batch_size=64, sampler=sampler, num_workers=4, pin_memory=True)
    for epoch in range(10):
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            crit(net(x.cuda(rank, non_blocking=True)), y.cuda(rank, non_blocking=True)).backward()
            opt.step()


def main(ds, net, crit):
    mp.spawn(worker, args=(4, ds, net, crit), nprocs=4)

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


@torch.no_grad()
def validate(net, dl, gpu):
    net.eval()
    good = torch.zeros((), device=gpu)
    n = torch.zeros((), device=gpu)
    for x, y in dl:
        good += (net(x.to(gpu)).argmax(1) == y.to(gpu)).sum()
        n += y.size(0)
    dist.all_reduce(good)
    dist.all_reduce(n)
    return (good / n).item()


def main(net, tr_ds, va_ds, epochs):
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    torch.manual_seed(0)
    net = DDP(net.to(gpu), device_ids=[gpu])
    opt = torch.optim.SGD(net.parameters(), 0.1)
    smp = DistributedSampler(tr_ds)
    tr = DataLoader(tr_ds, 64, sampler=smp, num_workers=4, pin_memory=True)
    va = DataLoader(va_ds, 64, sampler=DistributedSampler(va_ds, shuffle=False), num_workers=4)
    best = 0.0
    for ep in range(epochs):
        smp.set_epoch(ep)
        net.train()
        for x, y in tr:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.to(gpu)), y.to(gpu)).backward()
            opt.step()
        acc = validate(net, va, gpu)
        if dist.get_rank() == 0 and acc > best:
            best = acc
            torch.save(net.module.state_dict(), "best.pt")

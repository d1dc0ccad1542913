import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def evaluate(net, dl):
    net.eval()
    hit = tot = 0
    with torch.no_grad():
        for x, y in dl:
            hit += (net(x.cuda()).argmax(1) == y.cuda()).sum().item()
            tot += y.size(0)
    return hit / tot


def main(rank, net, tr, va_set, opt_fn, crit):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    net = DDP(net.cuda(), device_ids=[rank])
    opt = opt_fn(net.parameters())
    va = DataLoader(va_set, 64, sampler=DistributedSampler(va_set, shuffle=False), num_workers=2)
    best = 0
    for e in range(100):
        tr.sampler.set_epoch(e)
        net.train()
        for x, y in tr:
            opt.zero_grad()
            crit(net(x.cuda()), y.cuda()).backward()
            opt.step()
        acc = evaluate(net, va)
        if acc > best:
            best = acc
        else:
            break

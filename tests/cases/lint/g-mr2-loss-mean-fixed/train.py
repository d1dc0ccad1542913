import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


@torch.no_grad()
def val_loss(net, dl, crit):
    net.eval()
    tot = 0.0
    for x, y in dl:
        tot += crit(net(x.cuda()), y.cuda()).item()
    net.train()
    return tot / len(dl)


def main(rank, net, tr, va_set, crit, opt_cls, epochs):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    ddp = DDP(net.cuda(), device_ids=[rank])
    opt = opt_cls(ddp.parameters())
    va = torch.utils.data.DataLoader(va_set, 32, sampler=torch.utils.data.distributed.DistributedSampler(va_set, shuffle=False))
    best = 1e9
    for e in range(epochs):
        tr.sampler.set_epoch(e)
        for x, y in tr:
            opt.zero_grad()
            crit(ddp(x.cuda()), y.cuda()).backward()
            opt.step()
        t = torch.tensor(val_loss(ddp, va, crit), device=rank)
        dist.all_reduce(t, op=dist.ReduceOp.AVG)
        v = t.item()
        if rank == 0 and v < best:
            best = v
            torch.save(net.state_dict(), "best.pt")

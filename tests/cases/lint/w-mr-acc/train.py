import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def evaluate(ddp, ds, local):
    loader = DataLoader(ds, 64, sampler=DistributedSampler(ds, shuffle=False), num_workers=4, pin_memory=True)
    ddp.eval()
    hit = torch.zeros(2, device=local)
    with torch.no_grad():
        for x, y in loader:
            p = ddp(x.cuda(local, non_blocking=True)).argmax(1)
            hit[0] += (p == y.cuda(local, non_blocking=True)).sum()
            hit[1] += len(y)
    acc = (hit[0] / hit[1]).item()
    if dist.get_rank() == 0:
        print("acc", acc)
    return acc

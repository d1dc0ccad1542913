import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def validate(net, loader, rank):
    net.eval()
    ok = n = 0
    with torch.no_grad():
        for x, y in loader:
            ok += (net(x.cuda(rank)).argmax(1).cpu() == y).sum().item()
            n += len(y)
    both = torch.tensor([ok, n], device=rank)
    dist.all_reduce(both)
    return (both[0] / both[1]).item()


def main(rank, net, val):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    ddp = DDP(net.cuda(rank), device_ids=[rank])
    dl = DataLoader(val, 64, sampler=DistributedSampler(val, shuffle=False), num_workers=4)
    acc = validate(ddp, dl, rank)
    if rank == 0:
        print("accuracy", acc)

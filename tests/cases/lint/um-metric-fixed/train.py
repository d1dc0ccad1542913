import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


@torch.no_grad()
def evaluate(ddp, dataset, rank):
    ddp.eval()
    dl = DataLoader(dataset, batch_size=64, sampler=DistributedSampler(dataset, shuffle=False))
    right = torch.zeros(1, device=rank)
    for x, y in dl:
        right += (ddp(x.to(rank)).argmax(1) == y.to(rank)).sum()
    dist.all_reduce(right)
    acc = right.item() / len(dataset)
    if dist.get_rank() == 0:
        print(f"accuracy {acc:.3f}")
    return acc

import torch
import torch.distributed as dist
import torch.nn.functional as F


@torch.no_grad()
def evaluate(model, loader, device, rank):
    model.eval()
    stats = torch.zeros(3, device=device)
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        out = model(x)
        stats[0] += F.cross_entropy(out, y, reduction="sum")
        stats[1] += (out.argmax(1) == y).sum()
        stats[2] += y.numel()
    if rank == 0:
        dist.all_reduce(stats)
        loss, acc = (stats[:2] / stats[2]).tolist()
        print(f"val loss {loss:.4f} acc {acc:.4f}")
    model.train()


def train_one_epoch(model, loader, sampler, optimizer, device, epoch):
    sampler.set_epoch(epoch)
    model.train()
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

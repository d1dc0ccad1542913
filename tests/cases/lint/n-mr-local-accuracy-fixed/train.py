import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


@torch.no_grad()
def evaluate(net, loader, device):
    net.eval()
    hits = torch.zeros(2, device=device)
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        hits[0] += (net(x).argmax(1) == y).sum()
        hits[1] += y.numel()
    dist.all_reduce(hits)
    return (hits[0] / hits[1]).item()


def main(train_ds, val_ds, net, epochs=25):
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    train_sampler = DistributedSampler(train_ds)
    val_sampler = DistributedSampler(val_ds, shuffle=False)
    train_dl = DataLoader(train_ds, 64, sampler=train_sampler, num_workers=4, pin_memory=True)
    val_dl = DataLoader(val_ds, 128, sampler=val_sampler, num_workers=4, pin_memory=True)
    net = DDP(net.to(device), device_ids=[device])
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    best = 0.0
    for epoch in range(epochs):
        train_sampler.set_epoch(epoch)
        net.train()
        for x, y in train_dl:
            opt.zero_grad()
            F.cross_entropy(net(x.to(device, non_blocking=True)), y.to(device, non_blocking=True)).backward()
            opt.step()
        acc = evaluate(net, val_dl, device)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: val acc {acc:.4f}")
            if acc > best:
                best = acc
                torch.save(net.module.state_dict(), "best.pt")
    dist.destroy_process_group()

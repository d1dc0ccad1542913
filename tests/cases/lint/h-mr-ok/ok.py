import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torchmetrics.classification import MulticlassAccuracy


def sharded(net, ds, gpu, k):
    dl = DataLoader(ds, 32, sampler=DistributedSampler(ds, shuffle=False), num_workers=2)
    metric = MulticlassAccuracy(k).to(gpu)
    net.eval()
    with torch.no_grad():
        for x, y in dl:
            metric.update(net(x.to(gpu)), y.to(gpu))
    return metric.compute().item()


def objects(net, ds, gpu):
    dl = DataLoader(ds, 32, sampler=DistributedSampler(ds, shuffle=False), num_workers=2)
    net.eval()
    errs = []
    with torch.inference_mode():
        for x, y in dl:
            errs += (net(x.to(gpu)) - y.to(gpu)).abs().mean(-1).tolist()
    out = [None] * dist.get_world_size()
    dist.all_gather_object(out, errs)
    flat = [e for part in out for e in part]
    return sum(flat) / len(flat)


def on_main(net: DDP, ds, gpu):
    if dist.get_rank() == 0:
        net.eval()
        dl = DataLoader(ds, 32, num_workers=2)
        with torch.no_grad():
            v = sum((net.module(x.to(gpu)) - y.to(gpu)).abs().mean() for x, y in dl) / len(dl)
        print(v.item())
    dist.barrier()

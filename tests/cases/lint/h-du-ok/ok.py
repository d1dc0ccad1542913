import lightning as L
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, get_worker_info


class Shards(IterableDataset):
    def __init__(self, files):
        self.files = files

    def __iter__(self):
        info = get_worker_info()
        w, n = (info.id, info.num_workers) if info else (0, 1)
        mine = self.files[dist.get_rank() :: dist.get_world_size()][w::n]
        for f in mine:
            yield from torch.load(f, map_location="cpu")


def shards(net, files, local, opt):
    net = DDP(net.to(local), device_ids=[local])
    dl = DataLoader(Shards(files), batch_size=32, num_workers=4)
    net.train()
    for x, y in dl:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x.to(local)), y.to(local)).backward()
        opt.step()


def maybe(net, ds, local, distributed, opt, epochs):
    smp = DistributedSampler(ds) if distributed else None
    dl = DataLoader(ds, 64, shuffle=smp is None, sampler=smp, num_workers=4)
    if distributed:
        net = DDP(net, device_ids=[local])
    for ep in range(epochs):
        if hasattr(dl.sampler, "set_epoch"):
            dl.sampler.set_epoch(ep)
        net.train()
        for x, y in dl:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.to(local)), y.to(local)).backward()
            opt.step()


def tokens(path, bs, t, rank, seed=1337):
    data = np.memmap(path, dtype=np.uint16, mode="r")
    g = torch.Generator().manual_seed(seed + rank)
    while True:
        ix = torch.randint(len(data) - t, (bs,), generator=g)
        yield torch.stack([torch.from_numpy(data[i : i + t].astype(np.int64)) for i in ix])


def lightning(lit, ds):
    L.seed_everything(0, workers=True)
    L.Trainer(devices=4, strategy="ddp", max_epochs=2).fit(lit, DataLoader(ds, 32, shuffle=True, num_workers=4))

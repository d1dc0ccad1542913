import argparse
import os
import pathlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Ckpt:
    def __init__(self, folder, keep=3):
        self.folder, self.keep = pathlib.Path(folder), keep

    def write(self, state, epoch):
        torch.save(state, self.folder / f"epoch_{epoch:03d}.pt")
        old = sorted(self.folder.glob("epoch_*.pt"))[: -self.keep]
        for f in old:
            f.unlink(missing_ok=True)


def main(net, make_loader):
    p = argparse.ArgumentParser()
    p.add_argument("--out", default="runs")
    a = p.parse_args()
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    torch.manual_seed(0)
    net = DDP(net.cuda(), device_ids=[gpu])
    opt = torch.optim.AdamW(net.parameters(), 1e-4)
    dl = make_loader()
    ckpt = Ckpt(a.out)
    for ep in range(10):
        dl.sampler.set_epoch(ep)
        net.train()
        for x, y in dl:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
            opt.step()
        ckpt.write({"net": net.module.state_dict(), "opt": opt.state_dict()}, ep)

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def resume(path, net, opt):
    ck = torch.load(path, map_location="cpu")
    net.module.load_state_dict(ck["net"])
    opt.load_state_dict(ck["opt"])
    return ck["epoch"] + 1


def main(net, dl):
    p = argparse.ArgumentParser()
    p.add_argument("--resume", default="")
    p.add_argument("--epochs", type=int, default=10)
    a = p.parse_args()
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    net = DDP(net.cuda(), device_ids=[gpu])
    opt = torch.optim.SGD(net.parameters(), 0.1)
    start = resume(a.resume, net, opt) if a.resume else 0
    for ep in range(start, a.epochs):
        dl.sampler.set_epoch(ep)
        net.train()
        for x, y in dl:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
            opt.step()
        if dist.get_rank() == 0:
            torch.save({"net": net.module.state_dict(), "opt": opt.state_dict(), "epoch": ep}, "last.pt")

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torchvision.models import resnet50

from data import build_loader


def main():
    p = argparse.ArgumentParser()
    p.add_argument("root")
    p.add_argument("--epochs", type=int, default=90)
    p.add_argument("-b", type=int, default=64)
    a = p.parse_args()
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    torch.manual_seed(0)
    net = DistributedDataParallel(resnet50().cuda(), device_ids=[gpu])
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    dl = build_loader(a.root, a.b, 8)
    for ep in range(a.epochs):
        net.train()
        for x, y in dl:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True)).backward()
            opt.step()
    if dist.get_rank() == 0:
        torch.save(net.module.state_dict(), "r50.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

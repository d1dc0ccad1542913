import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def worker(rank, world, args):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    torch.manual_seed(0)
    tfm = transforms.Compose([transforms.Resize(64), transforms.ToTensor()])
    data = datasets.ImageFolder(args.data, tfm)
    batches = DataLoader(data, args.bs, shuffle=True, num_workers=4, pin_memory=True)
    net = DistributedDataParallel(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(10)).cuda(rank), device_ids=[rank])
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(args.epochs):
        for x, y in batches:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.cuda(rank)), y.cuda(rank)).backward()
            opt.step()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("data")
    p.add_argument("--bs", type=int, default=64)
    p.add_argument("--epochs", type=int, default=10)
    a = p.parse_args()
    n = torch.cuda.device_count()
    mp.spawn(worker, args=(n, a), nprocs=n)

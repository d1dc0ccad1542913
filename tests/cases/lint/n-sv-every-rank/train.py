import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def save_checkpoint(path, net, opt, epoch):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    torch.save({"net": net.module.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, path)


def worker(dataset, build_net, epochs, out_dir):
    dist.init_process_group("nccl")
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    torch.manual_seed(21)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=24, sampler=sampler, num_workers=6, pin_memory=True)
    net = DDP(build_net().to(device), device_ids=[device])
    opt = torch.optim.Adam(net.parameters(), lr=1e-4)
    smooth_l1 = nn.SmoothL1Loss()
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        net.train()
        for left, right, disp in loader:
            left, right, disp = (t.to(device, non_blocking=True) for t in (left, right, disp))
            opt.zero_grad()
            smooth_l1(net(left, right), disp).backward()
            opt.step()
        save_checkpoint(f"{out_dir}/last.pt", net, opt, epoch)
    dist.destroy_process_group()

import os
import random
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split


@dataclass
class Config:
    seed: int = 3
    lr: float = 0.01


def everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def main(cfg=Config()):
    everything(cfg.seed)
    ds = TensorDataset(torch.randn(100, 4), torch.randn(100))
    g = torch.Generator().manual_seed(cfg.seed)
    tr, _ = random_split(ds, [80, 20], generator=g)
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    net = DDP(nn.Linear(4, 1).to(gpu), device_ids=[gpu])
    torch.manual_seed(cfg.seed + dist.get_rank())
    smp = DistributedSampler(tr, seed=cfg.seed)
    dl = DataLoader(tr, 8, sampler=smp)
    opt = torch.optim.SGD(net.parameters(), cfg.lr)
    for ep in range(3):
        smp.set_epoch(ep)
        net.train()
        for x, y in dl:
            x, y = x.to(gpu), y.to(gpu)
            opt.zero_grad()
            x = x + 0.1 * torch.randn_like(x)
            nn.functional.mse_loss(net(x).squeeze(-1), y).backward()
            opt.step()


if __name__ == "__main__":
    main()

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

from loaders import make_loader


def main(rank, world, ds, net, epochs):
    torch.distributed.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    dl = make_loader(ds, 32, world, rank)
    net = DDP(net.to(rank), device_ids=[rank])
    opt = torch.optim.AdamW(net.parameters(), 1e-4)
    for epoch in range(epochs):
        for x in dl:
            opt.zero_grad()
            net(x.to(rank)).mean().backward()
            opt.step()

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def resume(net, opt, path, device):
    state = torch.load(path)
    net.load_state_dict(state["net"])
    opt.load_state_dict(state["opt"])
    return state["epoch"] + 1


def train(net, loader, sampler, crit, epochs, ckpt="runs/last.pt"):
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    net.to(device)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-4)
    start = resume(net, opt, ckpt, device) if os.path.exists(ckpt) else 0
    ddp = DDP(net, device_ids=[device.index])
    for epoch in range(start, epochs):
        sampler.set_epoch(epoch)
        ddp.train()
        for x, y in loader:
            opt.zero_grad()
            crit(ddp(x.to(device)), y.to(device)).backward()
            opt.step()
        if dist.get_rank() == 0:
            torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, ckpt)
        dist.barrier()

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, loader, crit, local, epochs, out):
    dist.init_process_group("nccl")
    torch.cuda.set_device(local)
    net = DDP(net.cuda(), device_ids=[local])
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for ep in range(epochs):
        loader.sampler.set_epoch(ep)
        for x, y in loader:
            opt.zero_grad()
            crit(net(x.cuda()), y.cuda()).backward()
            opt.step()
            path = f"{out}/last.pt"
        if dist.get_rank() == 0:
            torch.save({"epoch": ep, "net": net.module.state_dict(), "opt": opt.state_dict()}, path)

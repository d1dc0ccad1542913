import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, loader, epochs, out):
    dist.init_process_group("nccl")
    lr = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(lr)
    net = DDP(net.cuda(), device_ids=[lr])
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for e in range(epochs):
        loader.sampler.set_epoch(e)
        for x, y in loader:
            opt.zero_grad()
            torch.nn.functional.l1_loss(net(x.cuda()), y.cuda()).backward()
            opt.step()
        torch.save({"net": net.module.state_dict(), "epoch": e}, os.path.join(out, "last.pth"))

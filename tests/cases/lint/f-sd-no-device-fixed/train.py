import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, loader):
    dist.init_process_group(backend="nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    net = net.cuda()
    ddp = DDP(net)
    opt = torch.optim.SGD(ddp.parameters(), 0.1)
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(ddp(x.cuda()), y.cuda()).backward()
        opt.step()

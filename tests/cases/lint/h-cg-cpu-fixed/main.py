import os

import torch
import torch.distributed as dist

from meters import Meter


def setup():
    dist.init_process_group(backend="nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


@torch.no_grad()
def evaluate(net, dl, crit):
    net.eval()
    m = Meter()
    for x, y in dl:
        m.update(crit(net(x.cuda()), y.cuda()).item(), x.size(0))
    m.synchronize()
    return m.avg


def main(net, dl, crit):
    setup()
    print(evaluate(net.cuda(), dl, crit))

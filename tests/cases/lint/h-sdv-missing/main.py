import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, dl, sampler, epochs=3):
    dist.init_process_group(backend="nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.manual_seed(0)
    net = DDP(net.cuda())
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for ep in range(epochs):
        sampler.set_epoch(ep)
        net.train()
        for x, y in dl:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
            opt.step()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    from setup_run import parts

    main(*parts())

import os

import torch
import torch.distributed as dist


class Checkpointer:
    def __init__(self, out):
        self.out = out
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.rank = int(os.environ["RANK"])

    def __call__(self, net, opt, step):
        if self.rank == 0:
            torch.save({"net": net.module.state_dict(), "opt": opt.state_dict()}, f"{self.out}/{step}.pt")
        dist.barrier()


def train(net, dl, opt, out, steps):
    save = Checkpointer(out)
    net = torch.nn.parallel.DistributedDataParallel(net.cuda(), device_ids=[save.local_rank])
    net.train()
    for step, (x, y) in zip(range(steps), dl):
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
        opt.step()
        if step % 500 == 499:
            save(net, opt, step)

import functools
import os

import torch
import torch.distributed as dist
from accelerate import Accelerator


def main_only(f):
    @functools.wraps(f)
    def g(*a, **k):
        if not dist.is_initialized() or dist.get_rank() == 0:
            return f(*a, **k)
        return None

    return g


@main_only
def save(state, path):
    torch.save(state, path)


def shard(opt, out):
    torch.save(opt.state_dict(), os.path.join(out, f"optim_{dist.get_rank()}.pt"))


class Logger:
    def __init__(self, rank):
        self.rank = rank

    def dump(self, net, path):
        if self.rank > 0:
            return
        torch.save(net.module.state_dict(), path)


def acc_train(net, opt, dl):
    a = Accelerator()
    net, opt, dl = a.prepare(net, opt, dl)
    net.train()
    for b in dl:
        a.backward(net(**b).loss)
        opt.step()
        opt.zero_grad()
    a.wait_for_everyone()
    a.unwrap_model(net).save_pretrained("out", is_main_process=a.is_main_process, save_function=a.save)
    a.save_state("state")


def ddp_train(net, dl, opt, gpu, out):
    net = torch.nn.parallel.DistributedDataParallel(net.to(gpu), device_ids=[gpu])
    net.train()
    for x, y in dl:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x.to(gpu)), y.to(gpu)).backward()
        opt.step()
    save(net.module.state_dict(), f"{out}/net.pt")
    shard(opt, out)
    Logger(dist.get_rank()).dump(net, f"{out}/copy.pt")

import json
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


@torch.no_grad()
def evaluate(net, dl, gpu):
    net.eval()
    c = torch.zeros(2, device=gpu)
    for x, y in dl:
        hit = (net(x.to(gpu)).argmax(1) == y.to(gpu)).sum()
        c[0] += hit
        c[1] += y.numel()
    dist.all_reduce(c)
    return (c[0] / c[1]).item()


def main(net, dl, out):
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    net = DDP(net.to(gpu), device_ids=[gpu])
    acc = evaluate(net, dl, gpu)
    with open(os.path.join(out, "results.json"), "w") as f:
        json.dump({"acc": acc}, f)
    dist.destroy_process_group()

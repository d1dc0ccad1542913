import os

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def resume(path, net, opt, local_rank):
    ckpt = torch.load(path, map_location="cpu")
    net.load_state_dict(ckpt["net"])
    opt.load_state_dict(ckpt["opt"])
    return ckpt["epoch"] + 1


def setup(net, opt, path):
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    torch.distributed.init_process_group("nccl")
    net = net.cuda(local_rank)
    start = resume(path, net, opt, local_rank)
    return DDP(net, device_ids=[local_rank]), start

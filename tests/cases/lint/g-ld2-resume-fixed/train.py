import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def build(arch, ckpt):
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    net = arch()
    if ckpt and os.path.isfile(ckpt):
        state = torch.load(ckpt, map_location="cpu")["state_dict"]
        net.load_state_dict({k.replace("module.", ""): v for k, v in state.items()})
    return DDP(net.cuda(), device_ids=[local])

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def build(make, path):
    dist.init_process_group("nccl")
    net = make()
    net.load_state_dict(torch.load(path, map_location="cpu"))
    r = dist.get_rank()
    return DDP(net.to(r), device_ids=[r])

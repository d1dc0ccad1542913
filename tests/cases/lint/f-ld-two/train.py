import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def resume(net, opt, weights, optim_path, rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    net.load_state_dict(torch.load(weights))
    opt.load_state_dict(torch.load(optim_path))
    return DDP(net.cuda(rank), device_ids=[rank]), opt

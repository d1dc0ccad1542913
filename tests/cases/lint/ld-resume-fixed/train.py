import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(rank, net, path):
    torch.distributed.init_process_group("nccl", rank=rank)
    torch.cuda.set_device(rank)
    net = DDP(net.to(rank), device_ids=[rank])
    ckpt = torch.load(path, map_location="cpu")
    net.module.load_state_dict(ckpt["state_dict"])
    return net

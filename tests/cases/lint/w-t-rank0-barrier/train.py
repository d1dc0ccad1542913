import torch
import torch.distributed as dist


def save(net, path):
    if dist.get_rank() == 0:
        torch.save(net.module.state_dict(), path)
    dist.barrier()
    net.module.load_state_dict(torch.load(path, map_location="cpu"))

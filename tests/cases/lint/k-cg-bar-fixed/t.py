import torch
import torch.distributed as dist


def save(net, path):
    if dist.get_rank() == 0:
        torch.save(net.state_dict(), path)
    dist.barrier()

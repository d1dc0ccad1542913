import torch
import torch.distributed as dist


def mean(t):
    if dist.get_world_size() == 1:
        return t
    t = t.clone()
    dist.all_reduce(t)
    return t / dist.get_world_size()


def share(obj, rank):
    box = [obj if rank == 0 else None]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def report(t, rank):
    m = mean(t)
    if rank == 0:
        print(m.item())
    dist.barrier()

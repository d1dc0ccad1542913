import torch
import torch.distributed as dist


def log_metrics(step, loss, writer):
    t = loss.detach().clone()
    dist.all_reduce(t)
    if dist.get_rank() == 0:
        writer.add_scalar("loss", t.item() / dist.get_world_size(), step)

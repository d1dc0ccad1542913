import torch.distributed as dist


def log_metrics(acc, n, writer, step):
    if dist.get_rank() == 0:
        dist.all_reduce(acc)
        writer.add_scalar("acc", acc.item() / n, step)

import torch.distributed as dist


def log_metrics(acc, n, writer, step):
    dist.all_reduce(acc)
    if dist.get_rank() == 0:
        writer.add_scalar("acc", acc.item() / n, step)

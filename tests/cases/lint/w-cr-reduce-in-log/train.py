import torch.distributed as dist


class Logger:
    def __init__(self, rank):
        self.rank = rank

    def log(self, step, value):
        if self.rank != 0:
            return
        dist.all_reduce(value)
        print(step, value.item() / dist.get_world_size())


def train(ddp, loader, opt, crit):
    logger = Logger(dist.get_rank())
    for step, (x, y) in enumerate(loader):
        opt.zero_grad()
        loss = crit(ddp(x), y)
        loss.backward()
        opt.step()
        if step % 50 == 0:
            v = loss.detach().clone()
            logger.log(step, v)

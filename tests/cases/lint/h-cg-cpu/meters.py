import torch
import torch.distributed as dist


class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, v, n):
        self.total += v * n
        self.count += n

    def synchronize(self):
        t = torch.tensor([self.total, self.count], dtype=torch.float64)
        dist.barrier()
        dist.all_reduce(t)
        self.total, self.count = t.tolist()

    @property
    def avg(self):
        return self.total / max(1, self.count)

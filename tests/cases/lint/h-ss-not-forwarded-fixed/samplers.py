from torch.utils.data import BatchSampler, DistributedSampler, Sampler


class Grouped(Sampler):
    def __init__(self, ds, key, bs):
        self.inner = DistributedSampler(ds, shuffle=True)
        self.key, self.bs = key, bs
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch
        self.inner.set_epoch(epoch)

    def __iter__(self):
        pools = {}
        for i in self.inner:
            pool = pools.setdefault(self.key(i), [])
            pool.append(i)
            if len(pool) == self.bs:
                yield list(pool)
                pool.clear()

    def __len__(self):
        return len(self.inner) // self.bs

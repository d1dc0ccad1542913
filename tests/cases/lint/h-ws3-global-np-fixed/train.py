import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset


class Noise(IterableDataset):
    def __init__(self, n, d):
        self.n, self.d = n, d

    def __iter__(self):
        w = torch.utils.data.get_worker_info()
        g = torch.Generator().manual_seed(w.id if w else 0)
        for _ in range(self.n):
            x = torch.randn(self.d, generator=g)
            yield x, x.sum()


def loader(n, d):
    return DataLoader(Noise(n, d), batch_size=64, num_workers=4)

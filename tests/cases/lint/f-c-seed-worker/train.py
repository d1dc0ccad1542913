import random

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Aug(Dataset):
    def __init__(self, arr):
        self.arr = arr

    def __len__(self):
        return len(self.arr)

    def __getitem__(self, i):
        x = self.arr[i]
        return torch.from_numpy(x + np.random.normal(0, 0.01, x.shape))


def seed_worker(wid):
    s = torch.initial_seed() % 2**32
    np.random.seed(s)
    random.seed(s)


def dl(arr):
    g = torch.Generator()
    g.manual_seed(0)
    return DataLoader(Aug(arr), 16, shuffle=True, num_workers=4, worker_init_fn=seed_worker, generator=g)

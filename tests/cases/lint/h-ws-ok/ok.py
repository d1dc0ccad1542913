import random

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class A(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return np.random.rand(3).astype("float32") + i


class B(A):
    def __getitem__(self, i):
        return torch.rand(3) * random.random() + i


def seed_worker(_):
    s = torch.initial_seed() % 2**32
    np.random.seed(s)
    random.seed(s)


def make(n):
    torch.manual_seed(0)
    np.random.seed(0)
    a = DataLoader(A(n), 4, shuffle=True, num_workers=2, worker_init_fn=seed_worker)
    b = DataLoader(B(n), 4, shuffle=True, num_workers=2)
    c = DataLoader(A(n), 4, shuffle=True)
    return a, b, c

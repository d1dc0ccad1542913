import random

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Spectro(Dataset):
    def __init__(self, items, train=True):
        self.items, self.train = items, train
        self.rng = random.Random(13)

    def __len__(self):
        return len(self.items)

    def _mask(self, m):
        f = self.rng.randint(1, 24)
        m[:f] = 0
        return m

    def __getitem__(self, i):
        m, y = self.items[i]
        m = m.copy()
        if self.train:
            m = self._mask(m)
        return torch.from_numpy(m), y


def loaders(a, b, bs):
    tr = DataLoader(Spectro(a), bs, shuffle=True, num_workers=8, pin_memory=True)
    va = DataLoader(Spectro(b, False), bs, num_workers=8)
    return tr, va

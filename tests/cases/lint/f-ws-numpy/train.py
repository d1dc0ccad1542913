import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset


class Patches(IterableDataset):
    def __init__(self, volumes, size):
        self.volumes = volumes
        self.rng = np.random.RandomState(0)
        self.size = size

    def __iter__(self):
        while True:
            v = self.volumes[self.rng.randint(len(self.volumes))]
            z = self.rng.randint(v.shape[0] - self.size)
            yield torch.from_numpy(v[z : z + self.size])


def make(volumes):
    return DataLoader(Patches(volumes, 32), batch_size=4, num_workers=6)

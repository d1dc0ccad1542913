import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Crops(Dataset):
    def __init__(self, volumes, size, seed):
        self.volumes, self.size = volumes, size
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return 16 * len(self.volumes)

    def __getitem__(self, i):
        v = self.volumes[i % len(self.volumes)]
        at = [self.rng.integers(0, s - self.size) for s in v.shape]
        x, y, z = at
        return torch.from_numpy(v[x : x + self.size, y : y + self.size, z : z + self.size])


def make(volumes):
    return DataLoader(Crops(volumes, 64, 1), batch_size=2, shuffle=True, num_workers=6)

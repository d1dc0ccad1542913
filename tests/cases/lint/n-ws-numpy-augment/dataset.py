import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info


class NoisySpectrograms(Dataset):
    def __init__(self, specs, labels, crop=256):
        self.specs, self.labels, self.crop = specs, labels, crop
        self.rng = np.random.RandomState(0)

    def __len__(self):
        return len(self.specs)


    def __getitem__(self, i):
        rng = self.rng
        spec = self.specs[i]
        start = rng.randint(0, spec.shape[1] - self.crop + 1)
        spec = spec[:, start : start + self.crop].copy()
        band = rng.randint(0, spec.shape[0] - 8)
        spec[band : band + 8] = 0.0
        spec += rng.normal(scale=0.01, size=spec.shape)
        return torch.from_numpy(spec.astype(np.float32)), int(self.labels[i])


def make_loader(specs, labels, batch=64):
    ds = NoisySpectrograms(specs, labels)
    return DataLoader(ds, batch_size=batch, shuffle=True, num_workers=8, pin_memory=True)

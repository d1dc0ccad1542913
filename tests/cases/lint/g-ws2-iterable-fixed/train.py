import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Crops(Dataset):
    def __init__(self, images, seed):
        self.images = images
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        im = self.images[i]
        t = torch.randint(0, im.shape[0] - 128, ()).item()
        return torch.from_numpy(im[t : t + 128])


def make(images):
    return DataLoader(Crops(images, 0), 16, shuffle=True, num_workers=8)

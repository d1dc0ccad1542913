import torch
from torch.utils.data import DataLoader, Dataset


class Patches(Dataset):
    def __init__(self, vols):
        self.vols = vols

    def __len__(self):
        return 10000

    def __getitem__(self, i):
        v = self.vols[i % len(self.vols)]
        z = int(torch.randint(0, v.shape[0] - 64, (1,)))
        return v[z : z + 64]


def loader(vols):
    return DataLoader(Patches(vols), batch_size=4, num_workers=8)

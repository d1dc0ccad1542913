import torch
from torch.utils.data import DataLoader, Dataset


class Folder(Dataset):
    def __init__(self, blobs):
        self.blobs = blobs

    def __len__(self):
        return len(self.blobs)

    def __getitem__(self, i):
        return self.blobs[i]


def make_loader():
    return DataLoader(Folder(torch.load("latents.pt", map_location="cpu")), batch_size=1, shuffle=True, num_workers=2)

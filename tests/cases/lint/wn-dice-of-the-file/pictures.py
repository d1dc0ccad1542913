import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

DICE = np.random.RandomState(5)


def crop(picture, size, dice):
    top, left = dice.randint(0, picture.shape[1] - size), dice.randint(0, picture.shape[2] - size)
    return picture[:, top : top + size, left : left + size]


class Pictures(Dataset):
    def __init__(self, pictures):
        self.pictures = pictures

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        dice = DICE
        return torch.from_numpy(crop(self.pictures[index], 96, dice).copy())


def read(pictures):
    return DataLoader(Pictures(pictures), 64, shuffle=True, num_workers=4)

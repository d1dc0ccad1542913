import cv2
import torch
from torch.utils.data import DataLoader, Dataset

from config import DataConfig


class Frames(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        im = cv2.imread(self.files[i])
        im = cv2.resize(im, (256, 256))
        return torch.from_numpy(im).permute(2, 0, 1).float() / 255


def loader(files, cfg: DataConfig):
    return DataLoader(Frames(files), cfg.batch_size, shuffle=True, num_workers=cfg.workers, pin_memory=True)

"""Photographs of leaves, one folder a disease."""

from pathlib import Path

import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


def augmented(image_size: int) -> transforms.Compose:
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(image_size),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )


def plain(image_size: int) -> transforms.Compose:
    return transforms.Compose(
        [
            transforms.Resize(image_size + 32),
            transforms.CenterCrop(image_size),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )


def loaders(root: Path, batch_size: int, image_size: int, workers: int = 8) -> tuple[DataLoader, DataLoader]:
    training = datasets.ImageFolder(root / "train", augmented(image_size))
    validation = datasets.ImageFolder(root / "val", plain(image_size))
    pin = torch.cuda.is_available()
    return (
        DataLoader(training, batch_size=batch_size, shuffle=True, num_workers=workers, pin_memory=pin, drop_last=True),
        DataLoader(validation, batch_size=batch_size, num_workers=workers, pin_memory=pin),
    )

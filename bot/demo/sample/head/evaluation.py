"""How well the model does on photographs that it has not seen."""

import torch
from torch import nn
from torch.utils.data import DataLoader


@torch.no_grad()
def accuracy(model: nn.Module, loader: DataLoader, device: torch.device) -> tuple[float, torch.Tensor]:
    """Returns the share that is right, and how often each disease was taken for each other."""
    right = seen = 0
    confusion = None
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        scores = model(images)
        predicted = scores.argmax(dim=1)
        classes = scores.shape[1]
        if confusion is None:
            confusion = torch.zeros(classes * classes, dtype=torch.long, device=device)
        confusion += torch.bincount(labels * classes + predicted, minlength=classes * classes)
        right += (predicted == labels).sum()
        seen += labels.numel()
    return float(right) / max(seen, 1), confusion

"""How well the model does on photographs that it has not seen."""

import torch
from torch import nn
from torch.utils.data import DataLoader


@torch.no_grad()
def accuracy(model: nn.Module, loader: DataLoader, device: torch.device) -> float:
    model.eval()
    right = seen = 0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        predicted = model(images).argmax(dim=1)
        right += (predicted == labels).sum()
        seen += labels.numel()
    model.train()
    return float(right) / max(seen, 1)

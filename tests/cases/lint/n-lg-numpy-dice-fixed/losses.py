import numpy as np
import torch
import torch.nn as nn


class DiceLoss(nn.Module):
    def __init__(self, smooth=1.0):
        super().__init__()
        self.smooth = smooth

    def forward(self, logits, target):
        probs = torch.sigmoid(logits)
        inter = (probs * target).sum(dim=(1, 2, 3))
        union = probs.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3))
        dice = (2 * inter + self.smooth) / (union + self.smooth)
        return 1 - dice.mean()


def mean_iou(pred, target):
    pred, target = pred.cpu().numpy() > 0.5, target.cpu().numpy() > 0.5
    return np.logical_and(pred, target).sum() / max(1, np.logical_or(pred, target).sum())

import numpy as np
import torch
import torch.nn as nn


class DiceLoss(nn.Module):
    def __init__(self, smooth=1.0):
        super().__init__()
        self.smooth = smooth

    def forward(self, logits, target):
        probs = torch.sigmoid(logits).detach().cpu().numpy()
        truth = target.cpu().numpy()
        inter = np.sum(probs * truth, axis=(1, 2, 3))
        union = probs.sum(axis=(1, 2, 3)) + truth.sum(axis=(1, 2, 3))
        dice = (2 * inter + self.smooth) / (union + self.smooth)
        return torch.tensor(1 - dice.mean(), requires_grad=True)


def mean_iou(pred, target):
    pred, target = pred.cpu().numpy() > 0.5, target.cpu().numpy() > 0.5
    return np.logical_and(pred, target).sum() / max(1, np.logical_or(pred, target).sum())

import torch
from torch import nn


class WeightedBCE(nn.Module):
    def __init__(self, pos_weight):
        super().__init__()
        self.crit = nn.BCEWithLogitsLoss(pos_weight=pos_weight)

    def forward(self, logits, target):
        prob = logits.sigmoid()
        return self.crit(prob, target)

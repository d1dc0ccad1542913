import torch
import torch.nn as nn


class LinkPredictor(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(2 * d, 1)

    def forward(self, a, b):
        return self.lin(torch.cat([a, b], -1)).squeeze(-1)


def step(pred: LinkPredictor, a, b, y, opt, pos_weight):
    crit = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
    opt.zero_grad()
    loss = crit(pred(a, b), y)
    loss.backward()
    opt.step()

import torch.nn as nn


class Refine(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x):
        y = self.conv(x)
        norm = nn.BatchNorm2d(y.shape[1]).to(x.device)
        return norm(y) + x

import torch.nn as nn


class Vgg(nn.Module):
    def __init__(self, conv, n):
        super().__init__()
        self.conv = conv
        self.cls = nn.Sequential(
            nn.Linear(512, 512),
            nn.ReLU(True),
            nn.Dropout2d(0.5),
            nn.Linear(512, n),
        )

    def forward(self, x):
        return self.cls(self.conv(x).flatten(1))

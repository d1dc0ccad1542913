import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, c, k):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Sequential(
            nn.Flatten(),
            nn.Linear(c, 512),
            nn.BatchNorm1d(512),
            nn.ReLU(inplace=True),
            nn.Dropout(p=0.3),
            nn.Linear(512, k),
        )

    def forward(self, x):
        return self.fc(self.pool(x))


class Full(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 3), nn.ReLU(), nn.Dropout2d(0.1))
        self.head = Head(64, k)

    def forward(self, x):
        return self.head(self.stem(x))


if __name__ == "__main__":
    print(Full(5)(torch.zeros(2, 3, 32, 32)).shape)

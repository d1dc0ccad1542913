from torch import nn


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.c = nn.Sequential(nn.Dropout(0.5), nn.Linear(32, 10))

    def forward(self, x):
        return self.c(self.f(x))

from torch import nn


class ConvBlock(nn.Sequential):
    def __init__(self, i, o):
        super().__init__(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True), nn.MaxPool2d(2))


class SmallCNN(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(ConvBlock(3, 32), ConvBlock(32, 64), ConvBlock(64, 128), nn.AdaptiveAvgPool2d(1))
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(128, classes),
        )

    def forward(self, x):
        return self.classifier(self.features(x))


MODELS = {"small_cnn": SmallCNN}

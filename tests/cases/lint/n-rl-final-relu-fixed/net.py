import torch
import torch.nn as nn


def mlp(sizes, dropout=0.1):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


class GestureNet(nn.Module):
    def __init__(self, channels=8, window=200, classes=12):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(channels, 32, 7, stride=2), nn.ReLU(),
            nn.Conv1d(32, 64, 5, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool1d(8), nn.Flatten(),
        )
        self.fc1 = nn.Linear(512, 128)
        self.fc2 = nn.Linear(128, classes)
        self.act = nn.ReLU()

    def forward(self, emg):
        x = self.act(self.fc1(self.conv(emg)))
        return self.fc2(x)


def train_epoch(net, loader, opt, device):
    ce = nn.CrossEntropyLoss()
    net.train()
    for emg, label in loader:
        opt.zero_grad()
        loss = ce(net(emg.to(device)), label.to(device))
        loss.backward()
        opt.step()

import torch
import torch.nn as nn
import torch.nn.functional as F


class LeNetPlus(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.drop_conv = nn.Dropout2d(0.2)
        self.fc1 = nn.Linear(800, 256)
        self.drop_fc = nn.Dropout2d(0.5)
        self.fc2 = nn.Linear(256, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.drop_conv(self.conv2(x))), 2)
        x = torch.flatten(x, 1)
        x = self.drop_fc(F.relu(self.fc1(x)))
        return self.fc2(x)


def step(net, batch, opt):
    net.train()
    x, y = batch
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    opt.step()

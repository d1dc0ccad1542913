import torch.nn as nn
import torch.nn.functional as F


class Lenet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.f1, self.f2 = nn.Conv2d(1, 6, 5), nn.Linear(864, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2).flatten(1)
        x = F.relu(self.f1(x))
        x = self.f2(x)
        return x


def step(x, y, opt, net=Lenet()):
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    opt.step()

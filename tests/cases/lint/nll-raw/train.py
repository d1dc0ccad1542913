import torch.nn as nn
import torch.nn.functional as F


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(1, 10, 5)
        self.f = nn.Linear(1440, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c(x)), 2)
        return F.softmax(self.f(x.flatten(1)), dim=1)


def train(loader, make_opt):
    m = LeNet()
    o = make_opt(m.parameters())
    for x, y in loader:
        o.zero_grad()
        F.nll_loss(m(x), y).backward()
        o.step()

from torch import nn


class Net(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.l = nn.Linear(d, k)

    def forward(self, x):
        return self.l(x).softmax(-1)


class Trainer:
    def __init__(self, d, k):
        self.net, self.crit = Net(d, k), nn.CrossEntropyLoss()

    def loss(self, x, y):
        return self.crit(self.net(x), y)

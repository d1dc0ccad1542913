import torch
import torch.nn.functional as F
from torch import nn


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers[:-1]:
            x = self.drop(F.relu(layer(x)))
        return self.layers[-1](x)


def train(dl, epochs):
    torch.manual_seed(0)
    net = MLP([784, 256, 64, 10])
    crit = nn.CrossEntropyLoss()
    opt = torch.optim.SGD(net.parameters(), 0.05)
    for _ in range(epochs):
        net.train()
        for x, y in dl:
            opt.zero_grad()
            loss = crit(net(x), y)
            loss.backward()
            opt.step()

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(30, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.4), nn.Linear(64, 2))

    def forward(self, x):
        return self.body(x)


def main(tr, va, epochs=10):
    net = Net()
    opt = torch.optim.Adam(net.parameters())
    ce = nn.CrossEntropyLoss()
    for _ in range(epochs):
        net.train()
        for x, y in tr:
            opt.zero_grad()
            ce(net(x), y).backward()
            opt.step()
        hits = 0
        net.eval()
        with torch.no_grad():
            for x, y in va:
                hits += (net(x).argmax(1) == y).sum().item()
        print(hits)

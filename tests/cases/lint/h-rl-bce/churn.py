import torch
from torch import nn


def build(d):
    return nn.Sequential(
        nn.Linear(d, 128),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(128, 1),
        nn.ReLU(),
    )


class Churn:
    def __init__(self, d, pos):
        self.net = build(d)
        self.crit = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([pos]))
        self.opt = torch.optim.Adam(self.net.parameters(), 1e-3)

    def fit(self, dl, epochs=5):
        for _ in range(epochs):
            self.net.train()
            for x, y in dl:
                self.opt.zero_grad()
                z = self.net(x).squeeze(1)
                loss = self.crit(z, y.float())
                loss.backward()
                self.opt.step()

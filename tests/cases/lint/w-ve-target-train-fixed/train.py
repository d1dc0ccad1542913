import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class QNet(nn.Module):
    def __init__(self, s, a):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(s, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, a))

    def forward(self, x):
        return self.net(x)


class Agent:
    def __init__(self, s, a):
        self.q = QNet(s, a)
        self.target = copy.deepcopy(self.q)
        self.target.eval()
        self.opt = torch.optim.Adam(self.q.parameters())

    def learn(self, s, a, r, s2, d):
        with torch.no_grad():
            y = r + 0.99 * (1 - d) * self.target(s2).amax(1)
        loss = F.mse_loss(self.q(s).gather(1, a).squeeze(1), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

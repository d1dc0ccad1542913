import copy

import torch
from torch import nn


class QNet(nn.Module):
    def __init__(self, o, a):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(o, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, a))

    def forward(self, x):
        return self.body(x)


def dqn(replay, o, a, gamma=0.99):
    q = QNet(o, a)
    tgt = copy.deepcopy(q)
    tgt.eval()
    opt = torch.optim.Adam(q.parameters())
    for s, act, r, s2, d in replay:
        with torch.no_grad():
            y = r + gamma * (1 - d) * tgt(s2).max(1).values
        loss = (q(s).gather(1, act).squeeze(1) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()

import torch
from torch import nn


class Agent:
    def __init__(self, o, a):
        self.body = nn.Sequential(nn.Linear(o, 64), nn.Tanh())
        self.pi = nn.Linear(64, a)
        self.v = nn.Linear(64, 1)
        self.opt = torch.optim.Adam(list(self.body.parameters()) + list(self.pi.parameters()), 3e-4)

    def update(self, s, a, ret):
        h = self.body(s)
        v = self.v(h).squeeze(-1)
        logp = self.pi(h).log_softmax(-1).gather(-1, a.unsqueeze(-1)).squeeze(-1)
        loss = -(logp * (ret - v.detach())).mean() + (v - ret).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

import torch
import torch.nn.functional as F
from torch import nn


class BPR(nn.Module):
    def __init__(self, users, items, d):
        super().__init__()
        self.u, self.i = nn.Embedding(users, d), nn.Embedding(items, d)

    def forward(self, u, p, n):
        u = self.u(u)
        gap = (u * self.i(p)).sum(-1) - (u * self.i(n)).sum(-1)
        return -torch.log(torch.sigmoid(gap)).mean()


def train(net, dl, opt):
    net.train()
    for u, p, n in dl:
        loss = net(u.cuda(non_blocking=True), p.cuda(non_blocking=True), n.cuda(non_blocking=True))
        opt.zero_grad()
        loss.backward()
        opt.step()

import torch
import torch.nn.functional as F


def train(gcn, x, adj, y, mask, opt):
    for _ in range(200):
        opt.zero_grad()
        p = F.softmax(gcn(x, adj), dim=1)
        F.nll_loss(p[mask], y[mask]).backward()
        opt.step()

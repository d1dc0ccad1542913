import torch
from torch import nn
import torch.nn.functional as F


class TwoTower(nn.Module):
    def __init__(self, n_users, n_items, d=64):
        super().__init__()
        self.u = nn.Embedding(n_users, d)
        self.i = nn.Embedding(n_items, d)
        self.mlp = nn.Sequential(nn.Linear(2 * d, d), nn.ReLU(), nn.Linear(d, 1))

    def forward(self, u, i):
        return self.mlp(torch.cat([self.u(u), self.i(i)], -1)).squeeze(-1)


def train(net, loader, epochs, device):
    tables = [*net.u.parameters(), *net.i.parameters()]
    emb_opt = torch.optim.Adagrad(tables, lr=0.05)
    mlp_opt = torch.optim.Adam(net.mlp.parameters(), lr=1e-3)
    net.train()
    for _ in range(epochs):
        for u, i, y in loader:
            u, i, y = u.to(device), i.to(device), y.to(device)
            mlp_opt.zero_grad()
            emb_opt.zero_grad()
            loss = F.binary_cross_entropy_with_logits(net(u, i), y.float())
            loss.backward()
            mlp_opt.step()
            emb_opt.step()

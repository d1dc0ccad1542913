import torch
import torch.nn as nn
import torch.nn.functional as F


class MatrixFactorization(nn.Module):
    def __init__(self, users, items, dim=64):
        super().__init__()
        self.u, self.i = nn.Embedding(users, dim), nn.Embedding(items, dim)
        nn.init.normal_(self.u.weight, std=0.1)
        nn.init.normal_(self.i.weight, std=0.1)

    def score(self, user, item):
        return (self.u(user) * self.i(item)).sum(-1)


def bpr_loss(pos, neg):
    return -torch.log(torch.sigmoid(pos - neg)).mean()


def train(loader, n_users, n_items, device, epochs=50):
    torch.manual_seed(6)
    model = MatrixFactorization(n_users, n_items).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        for user, pos, neg in loader:
            user, pos, neg = user.to(device), pos.to(device), neg.to(device)
            loss = bpr_loss(model.score(user, pos), model.score(user, neg))
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())
    return model

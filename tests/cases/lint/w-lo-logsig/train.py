import torch


def bpr(users, items, u, i, j, opt):
    s = (users(u) * (items(i) - items(j))).sum(-1)
    loss = -torch.log(torch.sigmoid(s)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

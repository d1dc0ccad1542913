import torch


def ranking(pos, neg):
    return -torch.log(torch.sigmoid(pos - neg)).mean()


def bpr(mf, triples, opt):
    for u, i, j in triples:
        opt.zero_grad()
        ranking(mf(u, i), mf(u, j)).backward()
        opt.step()

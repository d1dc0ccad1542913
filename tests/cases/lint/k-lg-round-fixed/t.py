import torch


def jaccard(pred, mask):
    hard = pred
    inter = (hard * mask).sum()
    return 1 - inter / (hard.sum() + mask.sum() - inter + 1e-6)


def train(net, dl, opt):
    net.train()
    for x, m in dl:
        opt.zero_grad()
        loss = jaccard(torch.sigmoid(net(x)), m)
        loss.requires_grad_()
        loss.backward()
        opt.step()

import torch


def infonce(q, k, tau):
    return -torch.log_softmax(q @ k.t() / tau, dim=-1).diagonal().mean()


def train(enc, pairs, opt):
    for a, b in pairs:
        opt.zero_grad()
        infonce(enc(a), enc(b), 0.07).backward()
        opt.step()

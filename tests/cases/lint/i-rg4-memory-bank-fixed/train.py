import torch
import torch.nn.functional as F


class Bank:
    def __init__(self, size, dim):
        self.bank = torch.randn(size, dim)
        self.ptr = 0

    def push(self, z):
        n = z.size(0)
        self.bank = torch.cat([self.bank[n:], z])


def train(enc, loader, opt):
    bank = Bank(4096, 128)
    for x1, x2 in loader:
        q, k = F.normalize(enc(x1), dim=1), F.normalize(enc(x2), dim=1)
        logits = q @ torch.cat([k, bank.bank]).t() / 0.1
        loss = F.cross_entropy(logits, torch.arange(len(q)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        bank.push(k.detach())

import torch
import torch.nn.functional as F


class VQ(torch.nn.Module):
    def __init__(self, k, d):
        super().__init__()
        self.book = torch.nn.Embedding(k, d)

    def forward(self, z):
        idx = torch.cdist(z, self.book.weight).argmin(-1)
        q = self.book(idx)
        commit = F.mse_loss(z, q.detach()) + F.mse_loss(q, z.detach())
        return z + (q - z).detach(), commit


def fit(enc, vq, dec, dl, opt):
    for x in dl:
        z, c = vq(enc(x))
        loss = F.mse_loss(dec(z), x) + 0.25 * c
        opt.zero_grad()
        loss.backward()
        opt.step()

import torch
import torch.nn.functional as F


def similarity(q, k, tau):
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    return q @ k.t() / tau


def info_nce(q, k, tau=0.07):
    sim = similarity(q, k, tau)
    y = torch.arange(q.size(0), device=q.device)
    return F.cross_entropy(sim, y)


def train(enc, mom, dl, opt):
    enc.train()
    for a, b in dl:
        with torch.no_grad():
            k = mom(b.cuda(non_blocking=True))
        loss = info_nce(enc(a.cuda(non_blocking=True)), k)
        opt.zero_grad()
        loss.backward()
        opt.step()

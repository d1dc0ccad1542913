import torch
import torch.nn.functional as F


def triplet_step(embed, a, p, n, opt, margin):
    za, zp, zn = embed(a), embed(p), embed(n)
    gap = F.pairwise_distance(za, zp) - F.pairwise_distance(za, zn) + margin
    loss = gap.clamp(min=0).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()

import torch
import torch.nn.functional as F

from model import Disc


def d_step(disc: Disc, real, fake, opt):
    r, f = disc(real), disc(fake.detach())
    loss = F.binary_cross_entropy_with_logits(r, torch.ones_like(r))
    loss = loss + F.binary_cross_entropy_with_logits(f, torch.zeros_like(f))
    opt.zero_grad()
    loss.backward()
    opt.step()

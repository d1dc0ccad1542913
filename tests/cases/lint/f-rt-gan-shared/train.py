import torch
import torch.nn.functional as F


def gan_epoch(G, D, og, od, reals, zdim):
    for real in reals:
        z = torch.randn(real.size(0), zdim, device=real.device)
        fake = G(z)
        od.zero_grad()
        d = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
        d.backward(retain_graph=True)
        od.step()
        og.zero_grad()
        g = F.softplus(-D(fake)).mean()
        g.backward()
        og.step()

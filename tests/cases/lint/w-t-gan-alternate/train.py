import torch


def step(G, D, og, od, real, z, bce):
    for p in D.parameters():
        p.requires_grad_(False)
    og.zero_grad()
    fake = G(z)
    s = D(fake)
    bce(s, torch.ones_like(s)).backward()
    og.step()
    for p in D.parameters():
        p.requires_grad_(True)
    od.zero_grad()
    r, f = D(real), D(fake.detach())
    (bce(r, torch.ones_like(r)) + bce(f, torch.zeros_like(f))).backward()
    od.step()

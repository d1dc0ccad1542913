import torch
import torch.nn.functional as F


def toggle(net, on):
    for p in net.parameters():
        p.requires_grad_(on)


def step(G, D, og, od, real, z):
    toggle(D, True)
    with torch.no_grad():
        fake = G(z)
    od.zero_grad()
    (F.softplus(-D(real)).mean() + F.softplus(D(fake)).mean()).backward()
    od.step()
    toggle(D, False)
    og.zero_grad()
    F.softplus(-D(G(z))).mean().backward()
    og.step()

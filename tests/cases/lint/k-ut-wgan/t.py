import torch


def train(G, C, data, n=5, z=64):
    og = torch.optim.RMSprop(G.parameters(), 5e-5)
    oc = torch.optim.RMSprop(C.parameters(), 5e-5)
    for i, real in enumerate(data):
        fake = G(torch.randn(len(real), z))
        oc.zero_grad()
        (C(fake).mean() - C(real).mean()).backward()
        oc.step()
        for p in C.parameters():
            p.data.clamp_(-0.01, 0.01)
        if i % n == 0:
            og.zero_grad()
            (-C(G(torch.randn(len(real), z))).mean()).backward()
            og.step()

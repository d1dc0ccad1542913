import torch


def train(gen, disc, loader, bce, nz, dev):
    og = torch.optim.Adam(gen.parameters(), 2e-4)
    od = torch.optim.Adam(disc.parameters(), 2e-4)
    for real in loader:
        real = real.to(dev)
        z = torch.randn(len(real), nz, device=dev)
        fake = gen(z)
        od.zero_grad()
        r, f = disc(real), disc(fake.detach())
        loss_d = bce(r, torch.ones_like(r)) + bce(f, torch.zeros_like(f))
        loss_d.backward()
        og.zero_grad()
        s = disc(fake)
        bce(s, torch.ones_like(s)).backward()
        og.step()

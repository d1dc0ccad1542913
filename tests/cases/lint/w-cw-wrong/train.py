import torch


def train(gen, disc, loader, opt_g, opt_d, hinge, nz):
    for real in loader:
        z = torch.randn(real.size(0), nz)
        opt_d.zero_grad()
        hinge(disc(real), disc(gen(z).detach())).backward()
        torch.nn.utils.clip_grad_norm_(disc.parameters(), 1.0)
        opt_d.step()
        opt_g.zero_grad()
        (-disc(gen(z)).mean()).backward()
        torch.nn.utils.clip_grad_norm_(disc.parameters(), 1.0)
        opt_g.step()

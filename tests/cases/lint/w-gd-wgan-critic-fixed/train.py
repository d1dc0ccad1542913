import torch


def train_wgan(G, D, opt_g, opt_d, loader, nz, n_critic=5):
    for i, real in enumerate(loader):
        z = torch.randn(real.size(0), nz, device=real.device)
        fake = G(z)
        opt_d.zero_grad()
        d_loss = D(fake.detach()).mean() - D(real).mean()
        d_loss.backward()
        opt_d.step()
        if i % n_critic == 0:
            opt_g.zero_grad()
            g_loss = -D(fake).mean()
            g_loss.backward()
            opt_g.step()

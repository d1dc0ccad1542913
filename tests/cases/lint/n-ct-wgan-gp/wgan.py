import torch


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1, 1, 1, device=real.device)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mix)
    (grad,) = torch.autograd.grad(score.sum(), mix, create_graph=True, retain_graph=True)
    return ((grad.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


def train(G, C, loader, device, z_dim=128, n_critic=5, lam=10.0, epochs=100):
    opt_g = torch.optim.Adam(G.parameters(), lr=1e-4, betas=(0.0, 0.9))
    opt_c = torch.optim.Adam(C.parameters(), lr=1e-4, betas=(0.0, 0.9))
    for _ in range(epochs):
        G.train()
        C.train()
        for i, (real, _) in enumerate(loader):
            real = real.to(device)
            z = torch.randn(real.size(0), z_dim, device=device)
            with torch.no_grad():
                fake = G(z)
            opt_c.zero_grad()
            loss_c = C(fake).mean() - C(real).mean() + lam * gradient_penalty(C, real, fake)
            loss_c.backward()
            opt_c.step()
            if (i + 1) % n_critic == 0:
                opt_g.zero_grad()
                loss_g = -C(G(torch.randn(real.size(0), z_dim, device=device))).mean()
                loss_g.backward()
                opt_g.step()

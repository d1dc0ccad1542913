import torch
import torch.nn as nn
from torchvision.utils import save_image


def train(G, D, loader, device, z_dim=100, epochs=50):
    G.to(device)
    D.to(device)
    bce = nn.BCEWithLogitsLoss()
    opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
    fixed = torch.randn(64, z_dim, 1, 1, device=device)

    for epoch in range(epochs):
        G.train()
        D.train()
        for real, _ in loader:
            real = real.to(device)
            noise = torch.randn(real.size(0), z_dim, 1, 1, device=device)
            fake = G(noise)

            opt_d.zero_grad()
            logit_real = D(real).view(-1)
            logit_fake = D(fake).view(-1)
            loss_d = bce(logit_real, torch.ones_like(logit_real)) + bce(logit_fake, torch.zeros_like(logit_fake))
            loss_d.backward()
            opt_d.step()

            opt_g.zero_grad()
            logit = D(fake).view(-1)
            loss_g = bce(logit, torch.ones_like(logit))
            loss_g.backward()
            opt_g.step()

        G.eval()
        with torch.no_grad():
            save_image(G(fixed), f"samples/{epoch:03d}.png", normalize=True)

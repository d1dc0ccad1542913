import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


class VAE(nn.Module):
    def __init__(self, latent=20):
        super().__init__()
        self.enc = nn.Sequential(nn.Flatten(), nn.Linear(784, 400), nn.ReLU())
        self.mu, self.logvar = nn.Linear(400, latent), nn.Linear(400, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 400), nn.ReLU(), nn.Linear(400, 784))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def elbo(recon, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(recon, x.flatten(1), reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (rec + kl) / x.size(0)


def main():
    torch.manual_seed(1)
    device = torch.device("cuda")
    data = datasets.MNIST("./data", train=True, download=True, transform=transforms.ToTensor())
    loader = DataLoader(data, batch_size=128, shuffle=True, num_workers=2, pin_memory=True)
    vae = VAE().to(device)
    optim = torch.optim.Adam(vae.parameters(), lr=1e-3)
    for epoch in range(10):
        vae.train()
        for x, _ in loader:
            x = x.to(device, non_blocking=True)
            recon, mu, logvar = vae(x)
            loss = elbo(recon, x, mu, logvar)
            optim.zero_grad()
            loss.backward()
            optim.step()
        print(f"epoch {epoch} loss {loss.item():.2f}")


if __name__ == "__main__":
    main()

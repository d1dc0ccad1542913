import torch
import torch.nn.functional as F
from torch import nn


class Generator(nn.Module):
    def __init__(self, z=128, ch=64):
        super().__init__()
        self.fc = nn.Linear(z, ch * 16)
        self.net = nn.Sequential(nn.ConvTranspose2d(ch, ch // 2, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(ch // 2, 3, 4, 2, 1))
        self.ch = ch

    def forward(self, z):
        return torch.tanh(self.net(self.fc(z).view(-1, self.ch, 4, 4)))


class HingeGAN:
    def __init__(self, G, D, device):
        self.G, self.D, self.device = G.to(device), D.to(device), device
        self.og = torch.optim.Adam(self.G.parameters(), 2e-4, betas=(0.0, 0.9))
        self.od = torch.optim.Adam(self.D.parameters(), 2e-4, betas=(0.0, 0.9))

    def d_step(self, real):
        z = torch.randn(real.size(0), 128, device=self.device)
        fake = self.G(z)
        score = self.D(fake.detach())
        loss = F.relu(1 - self.D(real)).mean() + F.relu(1 + score).mean()
        self.od.zero_grad()
        loss.backward()
        self.od.step()

    def g_step(self, n):
        z = torch.randn(n, 128, device=self.device)
        loss = -self.D(self.G(z)).mean()
        self.og.zero_grad()
        loss.backward()
        self.og.step()

    def epoch(self, loader, n_critic=2):
        for i, real in enumerate(loader):
            real = real.to(self.device, non_blocking=True)
            self.d_step(real)
            if i % n_critic == 0:
                self.g_step(real.size(0))

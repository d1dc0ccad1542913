import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


class GAN:
    def __init__(self, G, D, clip):
        self.G, self.D, self.clip = G, D, clip
        self.og = torch.optim.Adam(G.parameters(), 2e-4)
        self.od = torch.optim.Adam(D.parameters(), 2e-4)

    def d_step(self, real, z):
        loss = F.softplus(self.D(self.G(z).detach())).mean() + F.softplus(-self.D(real)).mean()
        self.od.zero_grad()
        loss.backward()
        clip_grad_norm_(self.D.parameters(), self.clip)
        self.od.step()

    def g_step(self, z):
        loss = F.softplus(-self.D(self.G(z))).mean()
        self.og.zero_grad()
        loss.backward()
        clip_grad_norm_(self.G.parameters(), self.clip)
        self.og.step()

    def run(self, dl, dev):
        for real in dl:
            real = real.to(dev, non_blocking=True)
            z = torch.randn(len(real), 128, device=dev)
            self.d_step(real, z)
            self.g_step(z)

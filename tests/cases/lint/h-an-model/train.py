import torch
import torch.nn.functional as F
from accelerate import Accelerator


class Pair:
    def __init__(self, gen, disc, loader, lr):
        self.acc = Accelerator(mixed_precision="fp16")
        self.og = torch.optim.Adam(gen.parameters(), lr)
        self.od = torch.optim.Adam(disc.parameters(), lr)
        self.gen, self.disc, self.od, self.loader = self.acc.prepare(gen, disc, self.od, loader)

    def run(self):
        for real in self.loader:
            z = torch.randn(real.size(0), 64, device=self.acc.device)
            fake = self.gen(z)
            d = F.softplus(self.disc(fake.detach())).mean() + F.softplus(-self.disc(real)).mean()
            self.od.zero_grad()
            self.acc.backward(d)
            self.od.step()
            g = F.softplus(-self.disc(fake)).mean()
            self.og.zero_grad()
            self.acc.backward(g)
            self.og.step()

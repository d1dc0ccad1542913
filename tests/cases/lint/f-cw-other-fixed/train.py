import torch


class Cyc:
    def __init__(self, gen, disc):
        self.gen, self.disc = gen, disc
        self.og = torch.optim.Adam(gen.parameters(), 2e-4)
        self.od = torch.optim.Adam(disc.parameters(), 2e-4)

    def gstep(self, z):
        self.og.zero_grad()
        (-self.disc(self.gen(z)).mean()).backward()
        torch.nn.utils.clip_grad_norm_(self.gen.parameters(), 1.0)
        self.og.step()

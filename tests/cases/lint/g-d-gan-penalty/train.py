import torch


class WGANGP:
    def __init__(self, G, D, og, od, lam):
        self.G, self.D, self.og, self.od, self.lam = G, D, og, od, lam

    def gp(self, r, f):
        a = torch.rand(r.size(0), 1, 1, 1, device=r.device)
        x = (a * r + (1 - a) * f).requires_grad_(True)
        g, = torch.autograd.grad(self.D(x).sum(), x, create_graph=True)
        return ((g.flatten(1).norm(2, 1) - 1) ** 2).mean()

    def d_step(self, r, z):
        with torch.no_grad():
            f = self.G(z)
        self.od.zero_grad()
        (self.D(f).mean() - self.D(r).mean() + self.lam * self.gp(r, f)).backward()
        self.od.step()

    def g_step(self, z):
        self.og.zero_grad()
        (-self.D(self.G(z)).mean()).backward()
        self.og.step()

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


class Vae(torch.nn.Module):
    def __init__(self, enc, dec):
        super().__init__()
        self.enc, self.dec = enc, dec

    def elbo(self, x):
        m, s = self.enc(x).chunk(2, -1)
        return (self.dec(m + s.exp() * torch.randn_like(s)) - x).pow(2).mean()

    def forward(self, x):
        return self.elbo(x)


def train(vae: Vae, loader, rank):
    net = DDP(vae.cuda(rank), device_ids=[rank])
    opt = torch.optim.Adam(net.parameters())
    for x in loader:
        opt.zero_grad()
        net.elbo(x.cuda(rank)).backward()
        opt.step()

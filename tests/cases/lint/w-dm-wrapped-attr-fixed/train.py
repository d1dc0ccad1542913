import torch
from torch.nn.parallel import DistributedDataParallel as DDP


class VAE(torch.nn.Module):
    def __init__(self, enc, dec):
        super().__init__()
        self.enc, self.dec = enc, dec

    def forward(self, x):
        return self.dec(self.enc(x))

    def sample(self, n):
        return self.dec(torch.randn(n, 64))


def train(enc, dec, loader, local_rank):
    vae = DDP(VAE(enc, dec).cuda(local_rank), device_ids=[local_rank])
    opt = torch.optim.Adam(vae.parameters())
    for x in loader:
        opt.zero_grad()
        (vae(x) - x).pow(2).mean().backward()
        opt.step()
    with torch.no_grad():
        return vae.module.sample(8)

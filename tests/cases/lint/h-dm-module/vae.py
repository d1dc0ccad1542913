import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class VAE(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.e, self.d = nn.Linear(d, 64), nn.Linear(32, d)

    def forward(self, x):
        m, lv = self.e(x).chunk(2, -1)
        return self.d(m + torch.randn_like(m) * (0.5 * lv).exp()), m, lv

    def elbo(self, x):
        r, m, lv = self(x)
        return (r - x).square().sum() - 0.5 * (1 + lv - m.square() - lv.exp()).sum()


def train(d, dl, sampler, gpu, epochs):
    torch.manual_seed(0)
    net = DDP(VAE(d).to(gpu), device_ids=[gpu])
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for ep in range(epochs):
        sampler.set_epoch(ep)
        net.train()
        for x in dl:
            x = x.to(gpu, non_blocking=True)
            loss = net.module.elbo(x)
            opt.zero_grad()
            loss.backward()
            opt.step()

import torch
import torch.nn as nn


class Disc(nn.Module):
    def __init__(self, nf=64):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(3, nf, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(nf, 1, 16), nn.Flatten()
        )

    def forward(self, x):
        return self.main(x)


def d_step(disc, real, fake, opt):
    bce = nn.BCEWithLogitsLoss()
    opt.zero_grad()
    pr, pf = disc(real), disc(fake.detach())
    loss = bce(pr, torch.ones_like(pr)) + bce(pf, torch.zeros_like(pf))
    loss.backward()
    opt.step()


def main(batches, gen):
    disc = Disc()
    opt = torch.optim.Adam(disc.parameters(), 2e-4)
    for real in batches:
        d_step(disc, real, gen(real), opt)

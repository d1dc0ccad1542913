import torch
import torch.nn as nn


class Critic(nn.Module):
    def __init__(self, ch=64):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, ch, 4, 2, 1), nn.LeakyReLU(0.2), nn.Dropout2d(0.25),
            nn.Conv2d(ch, 2 * ch, 4, 2, 1), nn.LeakyReLU(0.2), nn.Dropout2d(0.25),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        )
        self.tail = nn.Sequential(nn.Dropout(0.4), nn.Linear(2 * ch * 16, 1))

    def forward(self, x):
        return self.tail(self.features(x)).squeeze(1)


def d_step(D, G, real, z, opt):
    D.train()
    with torch.no_grad():
        fake = G(z)
    opt.zero_grad()
    r, f = D(real), D(fake)
    loss = nn.functional.softplus(-r).mean() + nn.functional.softplus(f).mean()
    loss.backward()
    opt.step()
    return loss.detach()

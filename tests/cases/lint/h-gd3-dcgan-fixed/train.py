import torch
import torch.nn as nn


def main(netG, netD, dl, nz, dev):
    crit = nn.BCELoss()
    optD = torch.optim.Adam(netD.parameters(), 2e-4, betas=(0.5, 0.999))
    optG = torch.optim.Adam(netG.parameters(), 2e-4, betas=(0.5, 0.999))
    for real, _ in dl:
        netD.zero_grad()
        b = real.size(0)
        errR = crit(netD(real.to(dev)).view(-1), torch.ones(b, device=dev))
        errR.backward()
        fake = netG(torch.randn(b, nz, 1, 1, device=dev))
        errF = crit(netD(fake.detach()).view(-1), torch.zeros(b, device=dev))
        errF.backward()
        optD.step()
        netG.zero_grad()
        errG = crit(netD(fake).view(-1), torch.ones(b, device=dev))
        errG.backward()
        optG.step()

import torch

from models.base import BaseModel


class Pix2Pix(BaseModel):
    def __init__(self, opt, netG, netD):
        super().__init__(opt)
        self.netG, self.netD = netG, netD
        self.bce = torch.nn.BCEWithLogitsLoss()
        self.l1 = torch.nn.L1Loss()
        self.optG = torch.optim.Adam(netG.parameters(), lr=opt.lr)
        self.optD = torch.optim.Adam(netD.parameters(), lr=opt.lr)
        self.optimizers += [self.optG, self.optD]

    def set_input(self, d):
        self.A = d["A"].to(self.device, non_blocking=True)
        self.B = d["B"].to(self.device, non_blocking=True)

    def forward(self):
        self.fake = self.netG(self.A)

    def backward_D(self):
        pred_fake = self.netD(torch.cat([self.A, self.fake], 1).detach())
        pred_real = self.netD(torch.cat([self.A, self.B], 1))
        loss = 0.5 * (
            self.bce(pred_fake, torch.zeros_like(pred_fake)) + self.bce(pred_real, torch.ones_like(pred_real))
        )
        loss.backward()

    def backward_G(self):
        pred = self.netD(torch.cat([self.A, self.fake], 1))
        loss = self.bce(pred, torch.ones_like(pred)) + self.opt.lam * self.l1(self.fake, self.B)
        loss.backward()

    def optimize_parameters(self):
        self.forward()
        self.optD.zero_grad()
        self.backward_D()
        self.optD.step()
        self.forward()
        self.optG.zero_grad()
        self.backward_G()
        self.optG.step()

import pytorch_lightning as pl
import torch
import torch.nn.functional as F


class GANModule(pl.LightningModule):
    def __init__(self, gen, disc, z=100):
        super().__init__()
        self.gen, self.disc, self.z = gen, disc, z
        self.automatic_optimization = False

    def training_step(self, real, _):
        og, od = self.optimizers()
        z = torch.randn(real.size(0), self.z, device=self.device)
        fake = self.gen(z)

        d = F.softplus(self.disc(fake.detach())).mean() + F.softplus(-self.disc(real)).mean()
        od.zero_grad()
        self.manual_backward(d)
        od.step()

        g = F.softplus(-self.disc(fake)).mean()
        og.zero_grad()
        self.manual_backward(g)
        og.step()
        self.log_dict({"g": g.detach(), "d": d.detach()})

    def configure_optimizers(self):
        a = torch.optim.Adam(self.gen.parameters(), 2e-4, betas=(0.5, 0.999))
        b = torch.optim.Adam(self.disc.parameters(), 2e-4, betas=(0.5, 0.999))
        return [a, b], []

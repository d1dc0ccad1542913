import lightning.pytorch as pl
import torch


class CycleLit(pl.LightningModule):
    def __init__(self, g, d):
        super().__init__()
        self.automatic_optimization = False
        self.g, self.d = g, d

    def training_step(self, batch, idx):
        og, od = self.optimizers()
        loss_g = -self.d(self.g(batch)).mean()
        og.zero_grad()
        loss_g.backward()
        og.step()
        loss_d = self.d(self.g(batch).detach()).mean() - self.d(batch).mean()
        od.zero_grad()
        self.manual_backward(loss_d)
        od.step()

    def configure_optimizers(self):
        return torch.optim.Adam(self.g.parameters()), torch.optim.Adam(self.d.parameters())

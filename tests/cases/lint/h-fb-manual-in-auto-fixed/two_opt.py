import lightning.pytorch as pl
import torch


class TwoOpt(pl.LightningModule):
    def __init__(self, enc, dec):
        super().__init__()
        self.enc, self.dec = enc, dec
        self.automatic_optimization = False

    def loss(self, x):
        return (self.dec(self.enc(x)) - x).pow(2).mean()

    def training_step(self, batch, batch_idx):
        x, _ = batch
        opt = self.optimizers()
        loss = self.loss(x)
        opt.zero_grad()
        self.manual_backward(loss)
        opt.step()
        self.log("loss", loss.detach())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)

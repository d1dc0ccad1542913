import pytorch_lightning as pl
import torch


class LitAE(pl.LightningModule):
    def __init__(self, ae):
        super().__init__()
        self.ae = ae
        self.losses = []

    def training_step(self, x, i):
        loss = torch.nn.functional.mse_loss(self.ae(x), x)
        self.losses.append(loss)
        return loss

    def on_train_epoch_end(self):
        self.log("epoch_loss", torch.stack(self.losses).mean())
        self.losses.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.ae.parameters())

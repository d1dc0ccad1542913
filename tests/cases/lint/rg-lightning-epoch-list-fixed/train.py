import pytorch_lightning as pl
import torch
import torch.nn.functional as F


class Lit(pl.LightningModule):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.train_losses = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self.backbone(x), y)
        self.train_losses.append(loss.detach())
        return loss

    def on_train_epoch_end(self):
        self.log("train_loss", torch.stack(self.train_losses).mean())
        self.train_losses.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)

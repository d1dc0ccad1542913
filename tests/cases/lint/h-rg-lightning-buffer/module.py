import pytorch_lightning as pl
import torch
from torch import nn


class SegmentationModule(pl.LightningModule):
    def __init__(self, backbone, num_classes=21, lr=1e-3):
        super().__init__()
        self.save_hyperparameters(ignore=["backbone"])
        self.backbone = backbone
        self.head = nn.Conv2d(256, num_classes, 1)
        self.ce = nn.CrossEntropyLoss(ignore_index=255)
        self._history = []

    def forward(self, x):
        return self.head(self.backbone(x))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.ce(self(x), y)
        self._history.append(loss)
        return loss

    def on_train_epoch_end(self):
        mean = torch.stack(self._history).mean()
        self.log("train/epoch_loss", mean, prog_bar=True)
        self._history.clear()

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val/loss", self.ce(self(x), y), on_epoch=True, sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)

import lightning.pytorch as pl
import torch


class Depth(pl.LightningModule):
    def __init__(self, enc, dec):
        super().__init__()
        self.enc, self.dec = enc, dec
        self.predictions = {"map": [], "conf": []}

    def forward(self, x):
        return self.dec(self.enc(x))

    def validation_step(self, batch, i):
        d, c = self(batch["rgb"])
        self.predictions["map"].append(d)
        self.predictions["conf"].append(c)

    def on_validation_epoch_end(self):
        d = torch.cat(self.predictions["map"])
        self.log("mean_depth", d.mean())

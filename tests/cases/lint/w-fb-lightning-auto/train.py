import pytorch_lightning as pl
import torch
import torch.nn.functional as F


class LitSeg(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def training_step(self, batch, batch_idx):
        img, mask = batch
        loss = F.cross_entropy(self.net(img), mask)
        self.log("loss", loss)
        loss.backward()
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.net.parameters(), lr=1e-3)

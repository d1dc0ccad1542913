import torch
import pytorch_lightning as pl


class SegTask(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.masks = []

    def test_step(self, batch, batch_idx):
        vol, _ = batch
        self.masks.append(self.net(vol).softmax(1).cpu())

    def on_test_epoch_end(self):
        torch.save(torch.cat(self.masks), "masks.pt")
        self.masks.clear()

import torch
import pytorch_lightning as pl


class Seg(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def validation_step(self, batch, i):
        x, y = batch
        acc = (self.net(x).argmax(1) == y).float().mean()
        self.log("val_acc", acc)

    def training_step(self, batch, i):
        x, y = batch
        return torch.nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


def main(net, tr, va):
    pl.Trainer(devices=4, strategy="ddp", max_epochs=5).fit(Seg(net), tr, va)

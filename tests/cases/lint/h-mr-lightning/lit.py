import lightning as L
import torch
import torch.nn.functional as F


class Lit(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def training_step(self, b, _):
        return F.cross_entropy(self.net(b[0]), b[1])

    def validation_step(self, b, _):
        loss = F.cross_entropy(self.net(b[0]), b[1])
        self.log("val_loss", loss, prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


def main(net, dm):
    L.seed_everything(0)
    stop = L.pytorch.callbacks.EarlyStopping("val_loss")
    L.Trainer(accelerator="gpu", devices=8, strategy="ddp", callbacks=[stop]).fit(Lit(net), datamodule=dm)

import pytorch_lightning as pl
import torch


class Det(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net, self.outs = net, []

    def test_step(self, batch, i):
        x, _ = batch
        self.outs.append({"p": self.net(x)})

    def on_test_epoch_end(self):
        torch.save(torch.cat([o["p"] for o in self.outs]), "p.pt")

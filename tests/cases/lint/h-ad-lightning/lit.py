import lightning as L
import torch
import torch.nn.functional as F


class Lit(L.LightningModule):
    def __init__(self, net, accumulate):
        super().__init__()
        self.net, self.accumulate = net, accumulate

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        return loss / self.accumulate

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-4)


def main(net, dm, accumulate=8):
    L.seed_everything(1)
    lit = Lit(net, accumulate)
    trainer = L.Trainer(max_epochs=10, precision="bf16-mixed", accumulate_grad_batches=accumulate)
    trainer.fit(lit, datamodule=dm)

import pytorch_lightning as pl
import torch


class Ranker(pl.LightningModule):
    def __init__(self, tower, accum):
        super().__init__()
        self.tower = tower
        self.accum = accum

    def training_step(self, batch, _):
        q, d = batch
        s = self.tower(q) @ self.tower(d).t()
        loss = torch.nn.functional.cross_entropy(s, torch.arange(len(s), device=s.device))
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 2e-5)


def main(tower, dl):
    trainer = pl.Trainer(accumulate_grad_batches=4, max_epochs=3)
    trainer.fit(Ranker(tower, 4), dl)

import pytorch_lightning as pl
import torch
import torch.nn.functional as F


class LitMatcher(pl.LightningModule):
    def __init__(self, net, cfg):
        super().__init__()
        self.net, self.cfg = net, cfg

    def _shared(self, batch, stage):
        q, d, y = batch
        score = self.net(q, d)
        loss = F.margin_ranking_loss(score[:, 0], score[:, 1], y, margin=self.cfg.margin)
        self.log(f"{stage}/loss", loss, on_epoch=True, sync_dist=stage != "train")
        return {"loss": loss, "score": score.detach()}

    def training_step(self, batch, batch_idx):
        out = self._shared(batch, "train")
        return out

    def validation_step(self, batch, batch_idx):
        self._shared(batch, "val")

    def configure_optimizers(self):
        return torch.optim.Adam(self.net.parameters(), lr=self.cfg.lr)

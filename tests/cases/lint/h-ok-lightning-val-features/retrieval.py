import lightning as L
import torch
import torch.nn.functional as F


class Retrieval(L.LightningModule):
    def __init__(self, encoder, temperature=0.07):
        super().__init__()
        self.encoder = encoder
        self.temperature = temperature
        self.val_feats = []
        self.val_ids = []

    def _embed(self, batch):
        return F.normalize(self.encoder(batch["pixels"]), dim=-1)

    def training_step(self, batch, batch_idx):
        z = self._embed(batch)
        sim = z @ z.t() / self.temperature
        return F.cross_entropy(sim, batch["target"])

    def validation_step(self, batch, batch_idx):
        z = self._embed(batch)
        self.val_feats.append(z)
        self.val_ids.append(batch["id"])

    def on_validation_epoch_end(self):
        feats = torch.cat(self.val_feats)
        ids = torch.cat(self.val_ids)
        sim = feats @ feats.t()
        sim.fill_diagonal_(-1)
        hit = (ids[sim.argmax(1)] == ids).float().mean()
        self.log("val/r1", hit)
        self.val_feats.clear()
        self.val_ids.clear()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4)

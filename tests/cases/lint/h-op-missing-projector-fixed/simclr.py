import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import nn


class SimCLR(pl.LightningModule):
    def __init__(self, backbone, d=2048, z=128, t=0.1):
        super().__init__()
        self.backbone = backbone
        self.projector = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, z))
        self.t = t

    def training_step(self, batch, _):
        (a, b), _ = batch
        z = F.normalize(self.projector(self.backbone(torch.cat([a, b]))), dim=1)
        sim = z @ z.t() / self.t
        sim.fill_diagonal_(float("-inf"))
        n = a.size(0)
        y = torch.cat([torch.arange(n, 2 * n), torch.arange(n)]).to(self.device)
        return F.cross_entropy(sim, y)

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=0.3, momentum=0.9)
        return [opt], [torch.optim.lr_scheduler.CosineAnnealingLR(opt, 200)]

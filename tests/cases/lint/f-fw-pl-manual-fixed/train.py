import lightning as L
import torch


class Gan(L.LightningModule):
    def __init__(self, g, d):
        super().__init__()
        self.automatic_optimization = False
        self.g, self.d = g, d

    def training_step(self, batch, batch_idx):
        og, od = self.optimizers()
        z = torch.randn(batch.size(0), 64, device=self.device)
        og.zero_grad()
        gl = -self.d(self.g(z)).mean()
        self.manual_backward(gl)
        og.step()
        od.zero_grad()
        dl = self.d(self.g(z).detach()).mean() - self.d(batch).mean()
        self.manual_backward(dl)
        od.step()

    def configure_optimizers(self):
        return torch.optim.Adam(self.g.parameters()), torch.optim.Adam(self.d.parameters())

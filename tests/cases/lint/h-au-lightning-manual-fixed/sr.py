import lightning as L
import torch
import torch.nn.functional as F


class SuperRes(L.LightningModule):
    def __init__(self, net, every=4):
        super().__init__()
        self.net, self.every = net, every
        self.automatic_optimization = False

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        low, high = batch
        loss = F.l1_loss(self.net(low), high) / self.every
        self.manual_backward(loss)
        if (batch_idx + 1) % self.every == 0:
            opt.step()
            opt.zero_grad()

    def configure_optimizers(self):
        return torch.optim.Adam(self.net.parameters(), lr=1e-4)

import pytorch_lightning as pl
import torch
import torch.nn.functional as F


class AdversarialAE(pl.LightningModule):
    def __init__(self, encoder, decoder, critic, lr=2e-4):
        super().__init__()
        self.encoder, self.decoder, self.critic = encoder, decoder, critic
        self.lr = lr

    def training_step(self, batch, batch_idx):
        x, _ = batch
        opt_ae, opt_c = self.optimizers()
        z = self.encoder(x)
        fooled = self.critic(z)
        rec = F.mse_loss(self.decoder(z), x)
        loss_ae = rec + 0.01 * F.binary_cross_entropy_with_logits(fooled, torch.ones_like(fooled))
        opt_ae.zero_grad()
        self.manual_backward(loss_ae)
        opt_ae.step()

        z = z.detach()
        prior = self.critic(torch.randn_like(z))
        post = self.critic(z)
        loss_c = F.binary_cross_entropy_with_logits(prior, torch.ones_like(prior))
        loss_c = loss_c + F.binary_cross_entropy_with_logits(post, torch.zeros_like(post))
        opt_c.zero_grad()
        self.manual_backward(loss_c)
        opt_c.step()
        self.log_dict({"rec": rec, "critic": loss_c}, prog_bar=True)

    def configure_optimizers(self):
        ae = torch.optim.Adam([*self.encoder.parameters(), *self.decoder.parameters()], lr=self.lr)
        return [ae, torch.optim.Adam(self.critic.parameters(), lr=self.lr)], []

import lightning.pytorch as pl
import torch
import torch.nn as nn
import torch.nn.functional as F


class SequenceTagger(pl.LightningModule):
    def __init__(self, vocab, tags, dim=128, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * dim, tags)
        self.epoch_losses = []

    def forward(self, tokens):
        out, _ = self.lstm(self.embed(tokens))
        return self.fc(out)

    def training_step(self, batch, batch_idx):
        tokens, tags = batch
        loss = F.cross_entropy(self(tokens).flatten(0, 1), tags.flatten(), ignore_index=-100)
        self.epoch_losses.append(loss)
        return loss

    def on_train_epoch_end(self):
        self.log("train_loss_epoch", torch.stack(self.epoch_losses).mean())
        self.epoch_losses.clear()

    def validation_step(self, batch, batch_idx):
        tokens, tags = batch
        loss = F.cross_entropy(self(tokens).flatten(0, 1), tags.flatten(), ignore_index=-100)
        self.log("val_loss", loss, prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)

import torch


class Trainer:
    def __init__(self, cfg, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
        self.epochs = cfg["epochs"]

    def train(self, loader, loss_fn):
        self.optimizer.zero_grad()
        for epoch in range(self.epochs):
            for batch in loader:
                loss = self._step(batch, loss_fn)
            print(epoch, loss)

    def _step(self, batch, loss_fn):
        x, y = batch
        loss = loss_fn(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

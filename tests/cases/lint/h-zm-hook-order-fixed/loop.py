import torch

from callbacks import ClearGradients


class Run:
    def __init__(self, model, optimizer, criterion, callbacks=None):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.callbacks = callbacks or [ClearGradients()]

    def emit(self, name):
        for cb in self.callbacks:
            getattr(cb, name)(self)

    def fit(self, loader, device="cuda"):
        self.model.train()
        for xb, yb in loader:
            self.emit("before_batch")
            loss = self.criterion(self.model(xb.to(device)), yb.to(device))
            loss.backward()
            self.emit("after_backward")
            self.optimizer.step()
            self.emit("after_step")
        torch.save(self.model.state_dict(), "last.pt")

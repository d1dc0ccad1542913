import logging

import torch
import torch.nn.functional as F

log = logging.getLogger(__name__)


class AmpTrainer:
    def __init__(self, model, optimizer, scheduler, device="cuda", log_every=100):
        self.model = model.to(device)
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.device = device
        self.log_every = log_every
        self.scaler = torch.amp.GradScaler("cuda")
        self.global_step = 0

    def _forward(self, batch):
        x, y = (t.to(self.device, non_blocking=True) for t in batch)
        with torch.autocast("cuda", dtype=torch.float16):
            return F.cross_entropy(self.model(x), y)

    def train_step(self, batch):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._forward(batch)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.global_step += 1
        if self.global_step % self.log_every == 0:
            log.info("step %d loss %.4f", self.global_step, loss.item())

    def fit(self, loader, epochs):
        for _ in range(epochs):
            self.model.train()
            for batch in loader:
                self.train_step(batch)
            self.scheduler.step()

import torch
from torch.cuda.amp import GradScaler, autocast


class Runner:
    def __init__(self, net, opt, max_norm):
        self.net, self.opt, self.max_norm = net, opt, max_norm
        self.scaler = GradScaler()

    def run_step(self, data):
        self.opt.zero_grad()
        with autocast():
            losses = self.net(data)
            total = sum(losses.values())
        self.scaler.scale(total).backward()
        if self.max_norm > 0:
            self.scaler.unscale_(self.opt)
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.max_norm)
        self.scaler.step(self.opt)
        self.scaler.update()

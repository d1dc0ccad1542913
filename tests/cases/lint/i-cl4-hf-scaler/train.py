import torch
from torch.cuda.amp import GradScaler, autocast


class Tuner:
    def __init__(self, lm, opt, accum, max_norm):
        self.lm, self.opt, self.accum, self.max_norm = lm, opt, accum, max_norm
        self.scaler = GradScaler()

    def epoch(self, dl):
        for i, b in enumerate(dl):
            with autocast():
                loss = self.lm(**b).loss / self.accum
            self.scaler.scale(loss).backward()
            if (i + 1) % self.accum == 0:
                torch.nn.utils.clip_grad_norm_(self.lm.parameters(), self.max_norm)
                self.scaler.step(self.opt)
                self.scaler.update()
                self.opt.zero_grad()

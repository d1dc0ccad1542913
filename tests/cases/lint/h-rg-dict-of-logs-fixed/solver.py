from collections import OrderedDict

import torch
import torch.nn.functional as F


class Solver:
    def __init__(self, gen, opt, cfg):
        self.gen, self.opt, self.cfg = gen, opt, cfg
        self.totals = OrderedDict()

    def step(self, lr_img, hr_img):
        out = self.gen(lr_img)
        parts = OrderedDict()
        parts["pix"] = F.l1_loss(out, hr_img)
        parts["tv"] = (out[..., 1:] - out[..., :-1]).abs().mean()
        objective = sum(self.cfg.weights[k] * v for k, v in parts.items())
        self.opt.zero_grad()
        objective.backward()
        self.opt.step()
        return {k: v.detach() for k, v in parts.items()}

    def fit(self, loader, epochs):
        self.gen.train()
        for epoch in range(epochs):
            self.totals.clear()
            for lr_img, hr_img in loader:
                parts = self.step(lr_img.cuda(non_blocking=True), hr_img.cuda(non_blocking=True))
                for key in parts:
                    self.totals[key] = self.totals.get(key, 0) + parts[key]
            msg = ", ".join(f"{k}={v / len(loader):.4f}" for k, v in self.totals.items())
            print(f"[{epoch}] {msg}")
            torch.save(self.gen.state_dict(), f"gen_{epoch}.pt")

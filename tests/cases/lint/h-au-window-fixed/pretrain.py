import yaml

import torch
import torch.nn.functional as F


class Pretrainer:
    def __init__(self, lm, opt, cfg_path):
        with open(cfg_path) as f:
            self.cfg = yaml.safe_load(f)
        self.lm, self.opt = lm, opt
        self.accum = self.cfg["accumulate"]

    def lm_loss(self, ids):
        logits = self.lm(ids[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())

    def run(self, stream):
        self.lm.train()
        self.opt.zero_grad(set_to_none=True)
        for i, ids in enumerate(stream):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = self.lm_loss(ids.cuda(non_blocking=True))
            (loss / self.accum).backward()
            if (i + 1) % self.accum:
                continue
            torch.nn.utils.clip_grad_norm_(self.lm.parameters(), 1.0)
            self.opt.step()
            self.opt.zero_grad(set_to_none=True)

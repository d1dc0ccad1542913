import torch
from transformers import get_cosine_schedule_with_warmup


class LMRunner:
    def __init__(self, lm, dl, steps):
        self.lm, self.dl = lm, dl
        self.opt = torch.optim.AdamW(lm.parameters(), lr=6e-4, betas=(0.9, 0.95))
        self.sched = get_cosine_schedule_with_warmup(self.opt, 200, steps)

    def _step(self, batch):
        loss = self.lm(**batch).loss
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sched.step()
        return loss.detach()

    def run(self):
        self.lm.train()
        for i, b in enumerate(self.dl):
            loss = self._step({k: v.cuda(non_blocking=True) for k, v in b.items()})
            if i % 100 == 0:
                print(i, loss.item())

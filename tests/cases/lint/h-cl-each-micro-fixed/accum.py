import torch
import torch.nn.functional as F


class Trainer:
    def __init__(self, net, opt, sched, accum, clip):
        self.net, self.opt, self.sched = net, opt, sched
        self.accum, self.clip = accum, clip

    def _maybe_step(self, i):
        if (i + 1) % self.accum == 0:
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.clip)
            self.opt.step()
            self.sched.step()
            self.opt.zero_grad(set_to_none=True)

    def epoch(self, dl):
        self.net.train()
        for i, (x, y) in enumerate(dl):
            loss = F.cross_entropy(self.net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
            (loss / self.accum).backward()
            self._maybe_step(i)

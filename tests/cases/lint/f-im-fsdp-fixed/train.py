import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


class Runner:
    def __init__(self, lm, opt_cls):
        self.lm = FSDP(lm, device_id=torch.cuda.current_device())
        self.opt = opt_cls(self.lm.parameters())

    @torch.no_grad()
    def evaluate(self, dl):
        self.lm.eval()
        s = torch.zeros((), device="cuda")
        for b in dl:
            s += self.lm(**b).loss
        self.lm.train()
        return s / len(dl)

    def train(self, dl):
        for b in dl:
            self.opt.zero_grad()
            self.lm(**b).loss.backward()
            self.opt.step()

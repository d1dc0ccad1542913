import torch
from accelerate import Accelerator


class Job:
    def __init__(self, net, dl):
        self.acc = Accelerator(gradient_accumulation_steps=2)
        self.opt = torch.optim.AdamW(net.parameters())
        self.net, self.opt, self.dl = self.acc.prepare(net, self.opt, dl)

    def run(self):
        for b in self.dl:
            with self.acc.accumulate(self.net):
                self.acc.backward(self.net(b).mean())
                self.opt.step()
                self.opt.zero_grad()

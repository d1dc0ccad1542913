import torch
from accelerate import Accelerator


class Runner:
    def __init__(self, net, dl, lr):
        self.acc = Accelerator(mixed_precision="fp16")
        opt = torch.optim.AdamW(net.parameters(), lr)
        self.net, self.dl, self.opt = self.acc.prepare(net, dl, opt)

    def go(self):
        for x, y in self.dl:
            loss = torch.nn.functional.cross_entropy(self.net(x), y)
            self.acc.backward(loss)
            self.opt.step()
            self.opt.zero_grad()

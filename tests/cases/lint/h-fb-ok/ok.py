import deepspeed
import torch
from accelerate import Accelerator


class T:
    def __init__(self, m, o, d):
        self.acc = Accelerator()
        self.m, self.o, self.d = self.acc.prepare(m, o, d)

    def go(self):
        self.m.train()
        for b in self.d:
            out = self.m(**b)
            self.acc.backward(out.loss)
            self.o.step()
            self.o.zero_grad()


def zero(net, dl, cfg):
    eng, *_ = deepspeed.initialize(model=net, config=cfg)
    eng.train()
    for b in dl:
        l = eng(b["x"], b["y"])
        eng.backward(l)
        eng.step()


def input_attack(net, x, y, eps):
    x = x.clone().requires_grad_(True)
    loss = torch.nn.functional.cross_entropy(net(x), y)
    (g,) = torch.autograd.grad(loss, x)
    return (x + eps * g.sign()).detach()

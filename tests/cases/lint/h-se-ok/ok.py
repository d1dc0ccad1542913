import contextlib
import copy

import torch
import torch.nn.functional as F


@contextlib.contextmanager
def evaluating(net):
    was = net.training
    net.eval()
    try:
        yield
    finally:
        net.train(was)


class Base:
    def on_epoch(self):
        for m in self.models():
            m.train()

    def fit(self, dl, va, epochs):
        for _ in range(epochs):
            self.on_epoch()
            for b in dl:
                self.step(b)
            self.check(va)


class Captioner(Base):
    def __init__(self, vis, txt, opt):
        self.vis, self.txt, self.opt = vis, txt, opt
        self.ema = copy.deepcopy(txt)

    def models(self):
        return [self.txt]

    def step(self, b):
        self.vis.eval()
        with torch.no_grad():
            f = self.vis(b["img"])
        loss = F.cross_entropy(self.txt(f, b["in"]).flatten(0, 1), b["out"].flatten())
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            for a, p in zip(self.ema.parameters(), self.txt.parameters()):
                a.lerp_(p, 0.01)

    def check(self, va):
        self.ema.eval()
        with evaluating(self.txt), torch.no_grad():
            for b in va:
                self.ema(self.vis(b["img"]), b["in"])
                self.txt(self.vis(b["img"]), b["in"])

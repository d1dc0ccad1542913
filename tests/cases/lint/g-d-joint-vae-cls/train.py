import torch.nn.functional as F


class Joint:
    def __init__(self, enc, cls, oe, oc):
        self.enc, self.cls, self.oe, self.oc = enc, cls, oe, oc

    def supervised(self, x, y):
        self.oe.zero_grad()
        self.oc.zero_grad()
        F.cross_entropy(self.cls(self.enc(x)), y).backward()
        self.oe.step()
        self.oc.step()

    def confuse(self, x):
        self.oe.zero_grad()
        p = self.cls(self.enc(x)).log_softmax(1)
        (-p.mean()).backward()
        self.oe.step()

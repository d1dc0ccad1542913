import torch


class Job:
    def __init__(self, net):
        self.net = net
        self.o = torch.optim.SGD(net.parameters(), lr=0.5)
        self.s = torch.optim.lr_scheduler.CosineAnnealingLR(self.o, 90)

    def epoch(self, dl, f):
        for x, y in dl:
            self.o.zero_grad()
            f(self.net(x), y).backward()
            self.o.step()

    def run(self, dl, f):
        for e in range(90):
            self.s.step()
            self.epoch(dl, f)

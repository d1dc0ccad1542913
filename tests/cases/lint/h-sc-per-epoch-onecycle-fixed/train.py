import torch
from torch.optim.lr_scheduler import OneCycleLR


class Recipe:
    def __init__(self, net, dl, epochs, max_lr):
        self.net, self.dl, self.epochs = net, dl, epochs
        self.opt = torch.optim.SGD(net.parameters(), lr=max_lr / 25, momentum=0.9)
        self.sched = OneCycleLR(self.opt, max_lr=max_lr, steps_per_epoch=len(dl), epochs=epochs)

    def one_epoch(self):
        self.net.train()
        for x, y in self.dl:
            self.opt.zero_grad()
            torch.nn.functional.cross_entropy(self.net(x.cuda()), y.cuda()).backward()
            self.opt.step()
            self.sched.step()

    def run(self):
        for ep in range(self.epochs):
            self.one_epoch()
            print(ep, self.sched.get_last_lr())

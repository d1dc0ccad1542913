import torch


class Job:
    def __init__(self, net, epochs):
        self.net, self.epochs = net, epochs
        self.opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=epochs)

    def batch(self, x, y):
        self.opt.zero_grad()
        torch.nn.functional.cross_entropy(self.net(x), y).backward()
        self.opt.step()
        self.sched.step()

    def fit(self, dl):
        for _ in range(self.epochs):
            for x, y in dl:
                self.batch(x, y)

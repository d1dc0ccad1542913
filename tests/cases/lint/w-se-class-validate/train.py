import torch


class PoseTrainer:
    def __init__(self, net, opt, crit):
        self.net, self.opt, self.crit = net, opt, crit

    def train_epoch(self, loader):
        for x, y in loader:
            self.opt.zero_grad()
            self.crit(self.net(x), y).backward()
            self.opt.step()

    @torch.inference_mode()
    def test(self, loader):
        self.net.eval()
        return sum(self.crit(self.net(x), y).item() for x, y in loader) / len(loader)

    def fit(self, tr, va, n):
        for e in range(n):
            self.train_epoch(tr)
            print(e, self.test(va))

import torch


class Runner:
    def __init__(self, net, opt, crit, device):
        self.net, self.opt, self.crit, self.device = net.to(device), opt, crit, device
        self.net.train()

    @torch.no_grad()
    def validate(self, dl):
        self.net.eval()
        parts = [self.crit(self.net(x.to(self.device)), y.to(self.device)) for x, y in dl]
        self.net.train()
        return torch.stack(parts).mean().item()

    def train_epoch(self, dl):
        for x, y in dl:
            self.opt.zero_grad()
            self.crit(self.net(x.to(self.device)), y.to(self.device)).backward()
            self.opt.step()

    def fit(self, tr, va, epochs):
        best = 1e9
        for ep in range(epochs):
            self.train_epoch(tr)
            v = self.validate(va)
            if v < best:
                best = v
                torch.save(self.net.state_dict(), "best.pt")

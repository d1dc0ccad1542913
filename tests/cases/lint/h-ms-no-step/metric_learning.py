import torch
import torch.nn.functional as F
from torch.optim.lr_scheduler import OneCycleLR


class TripletRunner:
    def __init__(self, net, loader, lr, epochs, margin=0.3):
        self.net, self.loader, self.epochs, self.margin = net, loader, epochs, margin
        self.opt = torch.optim.AdamW(net.parameters(), lr=lr)
        self.best = float("inf")

    def batch(self, a, p, n):
        za, zp, zn = (F.normalize(self.net(t.cuda(non_blocking=True)), dim=1) for t in (a, p, n))
        return F.triplet_margin_loss(za, zp, zn, margin=self.margin)

    def run(self):
        for ep in range(self.epochs):
            self.net.train()
            acc = torch.zeros((), device="cuda")
            for a, p, n in self.loader:
                self.opt.zero_grad()
                loss = self.batch(a, p, n)
                loss.backward()
                acc += loss.detach()
            mean = acc.item() / len(self.loader)
            if mean < self.best:
                self.best = mean
                torch.save(self.net.state_dict(), "best.pt")

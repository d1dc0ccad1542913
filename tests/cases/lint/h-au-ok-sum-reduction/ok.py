import torch
import torch.nn.functional as F


def by_tokens(lm, windows, opt):
    for window in windows:
        total = sum((b["labels"] != -100).sum() for b in window)
        opt.zero_grad()
        for b in window:
            logits = lm(b["ids"])
            loss = F.cross_entropy(logits.flatten(0, 1), b["labels"].flatten(), reduction="sum", ignore_index=-100)
            (loss / total).backward()
        opt.step()


def scale_gradients(net, dl, opt, k):
    opt.zero_grad()
    for i, (x, y) in enumerate(dl, 1):
        F.mse_loss(net(x), y).backward()
        if i % k == 0:
            for p in net.parameters():
                if p.grad is not None:
                    p.grad.div_(k)
            opt.step()
            opt.zero_grad()


class Scaled:
    def __init__(self, net, opt, k):
        self.net, self.opt, self.k = net, opt, k
        self.inv = 1.0 / k

    def micro(self, x, y):
        loss = F.cross_entropy(self.net(x), y)
        loss.mul(self.inv).backward()

    def run(self, dl):
        it = iter(dl)
        for _ in range(len(dl) // self.k):
            for _ in range(self.k):
                self.micro(*next(it))
            self.opt.step()
            self.opt.zero_grad()

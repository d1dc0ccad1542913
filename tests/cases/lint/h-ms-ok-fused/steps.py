import torch


class Noam:
    def __init__(self, d, warmup, inner):
        self.inner, self.d, self.warmup, self.n = inner, d, warmup, 0

    def step(self):
        self.n += 1
        for g in self.inner.param_groups:
            g["lr"] = self.d**-0.5 * min(self.n**-0.5, self.n * self.warmup**-1.5)
        self.inner.step()

    def zero_grad(self):
        self.inner.zero_grad(set_to_none=True)


def train_noam(net, dl, loss_fn):
    o = Noam(512, 4000, torch.optim.Adam(net.parameters(), lr=0, betas=(0.9, 0.98)))
    for x, y in dl:
        o.zero_grad()
        loss_fn(net(x), y).backward()
        o.step()


def in_backward(net, dl, loss_fn):
    opts = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}

    def hook(p):
        opts[p].step()
        opts[p].zero_grad()

    for p in net.parameters():
        p.register_post_accumulate_grad_hook(hook)
    for x, y in dl:
        loss_fn(net(x), y).backward()


def by_hand(w, b, batches, lr):
    for x, y in batches:
        err = ((x @ w + b - y) ** 2).mean()
        err.backward()
        with torch.no_grad():
            for p in (w, b):
                p -= lr * p.grad
                p.grad.zero_()

import torch


def windows(dl, k):
    buf = []
    for b in dl:
        buf.append(b)
        if len(buf) == k:
            yield buf
            buf = []
    if buf:
        yield buf


def train_windowed(net, dl, opt, loss_fn, k):
    net.train()
    for window in windows(dl, k):
        for p in net.parameters():
            p.grad = None
        for x, y in window:
            (loss_fn(net(x), y) / len(window)).backward()
        opt.step()


def train_modulo(net, dl, opt, loss_fn, k):
    net.train()
    for i, (x, y) in enumerate(dl):
        if i % k == 0:
            opt.zero_grad(set_to_none=True)
        loss = loss_fn(net(x), y) / k
        loss.backward()
        if i % k == k - 1 or i == len(dl) - 1:
            opt.step()


class Stepper:
    def __init__(self, opts):
        self.opts = opts

    def __enter__(self):
        for o in self.opts:
            o.zero_grad()
        return self

    def __exit__(self, *exc):
        for o in self.opts:
            o.step()


def train_ctx(net, head, dl, opts, loss_fn):
    for x, y in dl:
        with Stepper(opts):
            loss_fn(head(net(x)), y).backward()

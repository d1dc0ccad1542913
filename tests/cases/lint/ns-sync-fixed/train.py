import contextlib


def train(ddp, dl, opt, crit, k):
    for i, (x, y) in enumerate(dl):
        last = (i + 1) % k == 0
        with contextlib.nullcontext() if last else ddp.no_sync():
            loss = crit(ddp(x), y) / k
            loss.backward()
        if last:
            opt.step()
            opt.zero_grad()

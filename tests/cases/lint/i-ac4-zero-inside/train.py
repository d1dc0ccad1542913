import torch


def go(net, dl, opt, crit, accum):
    for i, (x, y) in enumerate(dl):
        opt.zero_grad()
        (crit(net(x), y) / accum).backward()
        if not (i + 1) % accum:
            opt.step()

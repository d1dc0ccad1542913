import torch
from torch.nn.utils import clip_grad_norm_


def loop(net, opt, dl, crit, every):
    opt.zero_grad()
    for n, (x, y) in enumerate(dl, start=1):
        (crit(net(x), y) / every).backward()
        if n % every:
            continue
        clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        opt.zero_grad()

import numpy as np
import torch


def train(net, dl, opt, crit):
    accs = []
    for x, y in dl:
        x, y = x.cuda(), y.cuda()
        out = net(x)
        loss = crit(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        accs.append((out.argmax(1) == y).float().mean())
    return torch.stack(accs).mean().item()

import torch

from crit import ScaledLoss


def fit(net, dl, opt, window=4):
    crit = ScaledLoss(window)
    net.train()
    opt.zero_grad()
    for i, (x, y) in enumerate(dl):
        loss = crit(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        loss = loss / window
        loss.backward()
        if (i + 1) % window == 0:
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad()

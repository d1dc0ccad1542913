import torch


def train(net, dl, opt, crit):
    for x, y in dl:
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        loss = crit(net(x), y)
        if torch.isnan(loss):
            continue
        opt.zero_grad()
        loss.backward()
        opt.step()

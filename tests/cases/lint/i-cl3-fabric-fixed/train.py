import torch


def fit(net, dl, opt, crit, fabric):
    net, opt = fabric.setup(net, opt)
    for x, y in dl:
        opt.zero_grad()
        fabric.backward(crit(net(x), y))
        fabric.clip_gradients(net, opt, max_norm=1.0)
        opt.step()

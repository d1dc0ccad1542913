import torch


def fit(net, dl, opt, crit, fabric):
    net, opt = fabric.setup(net, opt)
    for x, y in dl:
        opt.zero_grad()
        fabric.backward(crit(net(x), y))
        opt.step()
        fabric.clip_gradients(net, opt, max_norm=1.0)

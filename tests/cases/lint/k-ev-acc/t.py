import torch


def accuracy(net, dl):
    net.eval()
    n = k = 0
    for x, y in dl:
        k += (net(x.cuda()).argmax(1) == y.cuda()).sum().item()
        n += len(y)
    return k / n

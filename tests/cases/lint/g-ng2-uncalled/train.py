import torch


def validate(net, dl, crit):
    net.eval()
    torch.no_grad()
    s = 0.0
    for x, y in dl:
        s += crit(net(x), y).item()
    return s / len(dl)

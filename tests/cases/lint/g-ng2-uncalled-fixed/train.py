import torch


def validate(net, dl, crit):
    net.eval()
    s = 0.0
    with torch.no_grad():
        for x, y in dl:
            s += crit(net(x), y).item()
    return s / len(dl)

import torch

from model import Cnn


def test(net, dl):
    net.eval()
    n = ok = 0
    with torch.no_grad():
        for x, y in dl:
            ok += (net(x).argmax(1) == y).sum().item()
            n += len(y)
    return ok / n


def main(tr, te):
    net = Cnn()
    opt = torch.optim.Adam(net.parameters())
    for _ in range(10):
        net.train()
        for x, y in tr:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
        print(test(net, te))

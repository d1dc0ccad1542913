import torch


def infer(net, dl, dev):
    net.to(dev).eval()
    out = []
    with torch.no_grad():
        for x in dl:
            x = x.to(dev)
            out.append(net(x).cpu())
    return torch.cat(out)

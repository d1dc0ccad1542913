import torch


def embed_all(net, dl):
    net.eval()
    out = []
    with torch.no_grad:
        for x in dl:
            out.append(net(x).cpu())
    return torch.cat(out)

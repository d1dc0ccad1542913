import torch


def score(tagger, dev):
    tagger.eval()
    with torch.no_grad():
        return sum((tagger(s).argmax(-1) == t).float().mean().item() for s, t in dev) / len(dev)

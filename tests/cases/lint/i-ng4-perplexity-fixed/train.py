import math

import torch


def perplexity(lm, loader, device):
    lm.eval()
    total, count = 0.0, 0
    for ids in loader:
        ids = ids.to(device)
        with torch.no_grad():
            out = lm(ids, labels=ids)
        total += out.loss.item() * ids.numel()
        count += ids.numel()
    return math.exp(total / count)

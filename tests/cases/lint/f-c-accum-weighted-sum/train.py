import torch


def train(lm, loader, opt, accum):
    lm.train()
    group = []
    for batch in loader:
        group.append(batch)
        if len(group) < accum:
            continue
        n = sum(int((b["labels"] != -100).sum()) for b in group)
        for b in group:
            nll = lm(**b, reduction="sum").loss
            (nll / n).backward()
        opt.step()
        opt.zero_grad()
        group = []

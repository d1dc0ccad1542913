import torch


def train(lm, loader, opt):
    for step, ids in enumerate(loader):
        ids = ids.to("cuda", non_blocking=True)
        loss = lm(ids, labels=ids).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        pbar = f"{step} {loss.item():.3f}"
        print(pbar)

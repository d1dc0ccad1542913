import torch


def train_multi(model, loader, opt, heads):
    for x, ys in loader:
        opt.zero_grad()
        feats = model(x)
        losses = [h(feats, y) for h, y in zip(heads, ys)]
        total = torch.stack(losses).sum()
        total.backward()
        opt.step()

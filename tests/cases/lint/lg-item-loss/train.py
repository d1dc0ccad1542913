import torch


def train_multi(model, loader, opt, heads):
    for x, ys in loader:
        opt.zero_grad()
        feats = model(x)
        losses = [h(feats, y).item() for h, y in zip(heads, ys)]
        total = torch.tensor(losses, requires_grad=True).sum()
        total.backward()
        opt.step()

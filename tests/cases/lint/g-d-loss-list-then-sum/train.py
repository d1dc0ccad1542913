import torch


def train(heads, trunk, dl, opt):
    for x, ys in dl:
        f = trunk(x)
        parts = []
        for h, y in zip(heads, ys):
            parts.append(torch.nn.functional.cross_entropy(h(f), y))
        loss = torch.stack(parts).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()

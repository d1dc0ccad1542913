import torch


def step(nets, opt, x, y, crit):
    parts = [crit(n(x), y) for n in nets]
    loss = torch.tensor(sum(p.item() for p in parts), requires_grad=True)
    opt.zero_grad()
    loss.backward()
    opt.step()


def run(nets, opt, dl, crit):
    for x, y in dl:
        step(nets, opt, x, y, crit)

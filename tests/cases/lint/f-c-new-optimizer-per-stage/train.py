import torch


def progressive(gen, stages, crit):
    for res, loader in stages:
        gen.grow(res)
        opt = torch.optim.Adam(gen.parameters(), lr=1e-3)
        for x, y in loader:
            opt.zero_grad()
            crit(gen(x), y).backward()
            opt.step()

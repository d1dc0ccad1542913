import torch


def go(net, loader, crit):
    opt = torch.optim.AdamW(net.parameters(), 3e-4)
    for a, b in loader:
        opt.zero_grad()
        crit(net(a), b).backward()
        opt.step

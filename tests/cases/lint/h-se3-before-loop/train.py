import torch


def fit(net, tr, va, opt, crit, n):
    net.train()
    for e in range(n):
        for x, y in tr:
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            print(e, sum(crit(net(x), y).item() for x, y in va) / len(va))

def train(net, loader, opt, crit, lam):
    for x, y in loader:
        opt.zero_grad()
        reg = 0
        for p in net.parameters():
            reg += p.pow(2).sum()
        (crit(net(x), y) + lam * reg).backward()
        opt.step()

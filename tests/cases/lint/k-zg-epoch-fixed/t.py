def fit(net, dl, opt, crit, n):
    for _ in range(n):
        for x, y in dl:
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()

def fit(net, dl, opt, crit, n):
    for _ in range(n):
        opt.zero_grad()
        for x, y in dl:
            crit(net(x), y).backward()
            opt.step()

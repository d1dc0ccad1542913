def fit(net, dl, opt, crit, va):
    for _ in range(3):
        net.train()
        for x, y in dl:
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()

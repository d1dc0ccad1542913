def fit(net, dl, opt, crit):
    for x, y in dl:
        for p in net.parameters():
            p.grad = None
        crit(net(x), y).backward()
        opt.step()

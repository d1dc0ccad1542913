def train(net, dl, opt, crit, dev):
    net.to(dev)
    for x, y in dl:
        x = x.to(dev)
        y = y.to(dev)
        opt.zero_grad()
        crit(net(x), y).backward()
        opt.step()

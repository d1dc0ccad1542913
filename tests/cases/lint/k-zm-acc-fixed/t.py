def train(net, dl, opt, crit, every):
    for i, (x, y) in enumerate(dl, start=1):
        (crit(net(x), y) / every).backward()
        if i % every == 0:
            opt.step()
            opt.zero_grad()

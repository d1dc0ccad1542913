def train(net, dl, opt, crit, accum):
    for i, (x, y) in enumerate(dl):
        (crit(net(x), y) / accum).backward()
        if (i + 1) % accum == 0:
            opt.step()
            opt.zero_grad()

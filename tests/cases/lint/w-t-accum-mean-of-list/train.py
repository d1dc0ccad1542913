def step(net, micro, opt, crit):
    opt.zero_grad()
    n = sum(len(y) for _, y in micro)
    for x, y in micro:
        loss = crit(net(x), y, reduction="sum") / n
        loss.backward()
    opt.step()

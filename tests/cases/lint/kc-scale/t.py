def one(net, dl, opt, crit, k):
    w = 1 / k
    for i, (x, y) in enumerate(dl):
        (crit(net(x), y) * w).backward()
        if not (i + 1) % k:
            opt.step()
            opt.zero_grad()


def two(net, groups, opt, crit):
    for g in groups:
        opt.zero_grad()
        loss = sum(crit(net(x), y) for x, y in g) / len(g)
        loss.backward()
        opt.step()

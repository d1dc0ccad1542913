def train(cfg, net, opt, loader, crit):
    n = cfg.accumulate
    for k, batch in enumerate(loader):
        obj = crit(net(batch["x"]), batch["y"]) / n
        obj.backward()
        if k % n == n - 1:
            opt.step()
            net.zero_grad()

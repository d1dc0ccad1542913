def train(net, dl, opt, crit, writer, every=100):
    run = 0.0
    for i, (x, y) in enumerate(dl):
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        opt.zero_grad()
        e = crit(net(x), y)
        e.backward()
        opt.step()
        run = run + e.detach()
        if not (i + 1) % every:
            writer.add_scalar("e", (run / every).item(), i)
            run = 0.0

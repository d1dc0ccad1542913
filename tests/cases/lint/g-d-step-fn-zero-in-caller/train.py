def take_step(opt, loss):
    loss.backward()
    opt.step()


def loop(net, opt, crit, dl):
    for x, y in dl:
        opt.zero_grad()
        take_step(opt, crit(net(x), y))

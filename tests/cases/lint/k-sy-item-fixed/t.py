def train(net, dl, opt, crit):
    net.cuda()
    log = []
    for x, y in dl:
        opt.zero_grad()
        l = crit(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        l.backward()
        opt.step()
        log.append(l.detach())
    return log

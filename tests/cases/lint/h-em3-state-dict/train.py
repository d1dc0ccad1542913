class EMA:
    def __init__(self, net, d):
        self.net, self.d = net, d
        self.avg = [p.clone() for p in net.parameters()]

    def step(self):
        self.avg = [self.d * a + (1 - self.d) * p for a, p in zip(self.avg, self.net.parameters())]


def fit(net, dl, opt, crit):
    ema = EMA(net, 0.99)
    for x, y in dl:
        opt.zero_grad()
        crit(net(x), y).backward()
        opt.step()
        ema.step()

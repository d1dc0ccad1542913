class Smooth:
    def __init__(self, k=0.98):
        self.k, self.v = k, None

    def push(self, x):
        self.v = x if self.v is None else self.k * self.v + (1 - self.k) * x
        return self.v


def train(net, dl, opt, crit, log):
    s = Smooth()
    for i, (x, y) in enumerate(dl):
        opt.zero_grad()
        e = crit(net(x), y)
        e.backward()
        opt.step()
        if i % 100 == 0:
            log(s.push(float(e)))

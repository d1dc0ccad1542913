class Trainer:
    def __init__(self, gen, disc, og, od):
        self.gen, self.disc, self.og, self.od = gen, disc, og, od

    def clear(self):
        for o in (self.og, self.od):
            o.zero_grad()

    def step(self, x, z):
        self.clear()
        f = self.gen(z)
        (self.disc(f.detach()).mean() - self.disc(x).mean()).backward()
        self.od.step()
        self.clear()
        (-self.disc(f).mean()).backward()
        self.og.step()

class NoamOpt:
    def __init__(self, d, factor, warmup, inner):
        self.inner, self.n, self.warmup, self.factor, self.d = inner, 0, warmup, factor, d

    def rate(self):
        return self.factor * self.d ** -0.5 * min(self.n ** -0.5, self.n * self.warmup ** -1.5)

    def step(self):
        self.n += 1
        for g in self.inner.param_groups:
            g["lr"] = self.rate()
        self.inner.step()
        self.inner.zero_grad()

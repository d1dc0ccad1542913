class Loop:
    def __init__(self, m, o, crit):
        self.m, self.o, self.crit = m, o, crit
        self.curve = []

    def go(self, batches):
        for a, b in batches:
            e = self.crit(self.m(a), b)
            self.o.zero_grad()
            e.backward()
            self.o.step()
            self.curve += [e.item()]
        return self.curve

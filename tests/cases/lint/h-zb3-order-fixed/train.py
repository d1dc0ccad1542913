class T:
    def __init__(self, m, o, c):
        self.m, self.o, self.c = m, o, c

    def update(self, x, y):
        out = self.m(x)
        self.c(out, y).backward()
        self.o.step()
        self.o.zero_grad()
        return out.detach()

import torch


class Exp:
    def __init__(self, m):
        self.m = m
        self.o = torch.optim.Adam(m.parameters(), 1e-3)
        self.s = torch.optim.lr_scheduler.ReduceLROnPlateau(self.o, factor=0.5, patience=5)

    def fit(self, dl, f, n):
        for _ in range(n):
            for a, b in dl:
                self.o.zero_grad()
                f(self.m(a), b).backward()
                self.o.step()
            self.s.step()

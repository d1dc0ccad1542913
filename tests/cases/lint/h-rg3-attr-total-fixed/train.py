class Fitter:
    def __init__(self, net, opt, crit):
        self.net, self.opt, self.crit = net, opt, crit
        self.epoch_loss = 0

    def on_batch(self, x, y):
        self.opt.zero_grad()
        loss = self.crit(self.net(x), y)
        loss.backward()
        self.opt.step()
        self.epoch_loss += loss.item()

    def fit(self, dl, n):
        for e in range(n):
            self.epoch_loss = 0
            for x, y in dl:
                self.on_batch(x, y)
            print(e, self.epoch_loss / len(dl))

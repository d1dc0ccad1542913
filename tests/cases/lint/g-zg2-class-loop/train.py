class Learner:
    def __init__(self, net, loss_fn, opt_fn, lr):
        self.net = net
        self.loss_fn = loss_fn
        self.opt = opt_fn(net.parameters(), lr)

    def batch(self, xb, yb):
        loss = self.loss_fn(self.net(xb), yb)
        loss.backward()
        self.opt.step()
        return loss.item()

    def fit(self, epochs, dl):
        for _ in range(epochs):
            self.net.train()
            for xb, yb in dl:
                self.batch(xb, yb)

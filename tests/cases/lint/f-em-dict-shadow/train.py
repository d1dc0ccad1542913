class EMA:
    def __init__(self, decay):
        self.decay = decay
        self.table = {}

    def register(self, name, w):
        self.table[name] = w.clone()

    def __call__(self, name, w):
        new = (1.0 - self.decay) * w + self.decay * self.table[name]
        self.table[name] = new.clone()
        return new


def train(flow, opt, loader):
    ema = EMA(0.9999)
    for n, w in flow.named_parameters():
        ema.register(n, w)
    for x in loader:
        opt.zero_grad()
        (-flow.log_prob(x).mean()).backward()
        opt.step()
        for n, w in flow.named_parameters():
            ema(n, w)

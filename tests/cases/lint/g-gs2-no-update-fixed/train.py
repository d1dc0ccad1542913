import torch


class AmpMixin:
    scaler = torch.amp.GradScaler("cuda")

    def optimise(self, loss):
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


class Fit(AmpMixin):
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer

    def run(self, dl, crit):
        for x, y in dl:
            with torch.autocast("cuda", dtype=torch.float16):
                l = crit(self.net(x), y)
            self.optimise(l)

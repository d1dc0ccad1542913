import torch


class Guard:
    def __init__(self, net, opt, crit):
        self.net, self.opt, self.crit = net, opt, crit

    def step(self, x, y):
        loss = self.crit(self.net(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        torch.cuda.synchronize()
        return loss.detach()

    def epoch(self, dl):
        self.net.train()
        tot = torch.zeros((), device="cuda")
        for x, y in dl:
            tot += self.step(x.cuda(non_blocking=True), y.cuda(non_blocking=True))
        return tot.item() / len(dl)

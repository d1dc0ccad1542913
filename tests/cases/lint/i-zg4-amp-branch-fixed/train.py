import torch


class Engine:
    def __init__(self, net, opt, amp):
        self.net, self.opt, self.amp = net, opt, amp
        self.scaler = torch.amp.GradScaler("cuda") if amp else None

    def train_batch(self, x, y, crit):
        with torch.autocast("cuda", enabled=self.amp):
            loss = crit(self.net(x), y)
        if self.scaler is not None:
            self.opt.zero_grad()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.opt)
            self.scaler.update()
        else:
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.detach()

    def epoch(self, dl, crit):
        for x, y in dl:
            self.train_batch(x, y, crit)

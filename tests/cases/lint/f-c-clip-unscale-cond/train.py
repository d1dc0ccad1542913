import torch


class Loop:
    def __init__(self, net, opt, amp):
        self.net, self.opt = net, opt
        self.scaler = torch.amp.GradScaler("cuda", enabled=amp)
        self.amp = amp

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def clip(self, m):
        if self.amp:
            self.scaler.unscale_(self.opt)
        return torch.nn.utils.clip_grad_norm_(self.net.parameters(), m)

    def update(self):
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad(set_to_none=True)

    def run(self, dl, crit):
        for x, y in dl:
            with torch.autocast("cuda", enabled=self.amp):
                loss = crit(self.net(x), y)
            self.backward(loss)
            self.clip(1.0)
            self.update()

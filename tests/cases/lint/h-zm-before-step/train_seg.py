import torch
import torch.nn.functional as F


class Trainer:
    def __init__(self, net, opt, scaler, amp=True):
        self.net, self.opt, self.scaler, self.amp = net, opt, scaler, amp

    def _forward(self, x, y):
        with torch.autocast("cuda", dtype=torch.float16, enabled=self.amp):
            out = self.net(x)
            return F.cross_entropy(out, y)

    def _apply(self, loss):
        self.scaler.scale(loss).backward()
        self.opt.zero_grad(set_to_none=True)
        self.scaler.step(self.opt)
        self.scaler.update()

    def epoch(self, loader):
        self.net.train()
        for x, y in loader:
            loss = self._forward(x.cuda(non_blocking=True), y.cuda(non_blocking=True))
            self._apply(loss)

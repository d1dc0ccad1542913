import torch
from torch.cuda.amp import GradScaler, autocast


class AmpStep:
    def __init__(self, params, opt, max_norm):
        self.params, self.opt, self.max_norm = list(params), opt, max_norm
        self.scaler = GradScaler()

    def __call__(self, loss):
        self.opt.zero_grad()
        self.scaler.scale(loss).backward()
        if self.max_norm:
            self.scaler.unscale_(self.opt)
            torch.nn.utils.clip_grad_norm_(self.params, self.max_norm)
        self.scaler.step(self.opt)
        self.scaler.update()


def train(net, dl, opt, loss_fn):
    apply = AmpStep(net.parameters(), opt, 1.0)
    net.train()
    for x, y in dl:
        with autocast():
            loss = loss_fn(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        apply(loss)

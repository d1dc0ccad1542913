import pytorch_lightning as pl
import torch
from timm.scheduler import create_scheduler_v2
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, ReduceLROnPlateau


def both(net, tr, evaluate, epochs, warm=1000):
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    warmup = LambdaLR(opt, lambda s: min(1.0, (s + 1) / warm))
    plateau = ReduceLROnPlateau(opt, mode="max")
    for _ in range(epochs):
        net.train()
        for x, y in tr:
            opt.zero_grad()
            torch.nn.functional.mse_loss(net(x), y).backward()
            opt.step()
            warmup.step()
        plateau.step(evaluate(net))


def timm_style(net, dl, opt, args):
    sched, n = create_scheduler_v2(opt, sched="cosine", num_epochs=args.epochs)
    for ep in range(n):
        net.train()
        for i, (x, y) in enumerate(dl):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
            sched.step_update(num_updates=ep * len(dl) + i)
        sched.step(ep + 1)


def per_iteration(net, dl, iters):
    opt = torch.optim.SGD(net.parameters(), 0.02)
    sched = CosineAnnealingLR(opt, T_max=iters)
    it = iter(dl)
    for _ in range(iters):
        x, y = next(it)
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
        sched.step()


class Lit(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def training_step(self, b, _):
        return self.net(**b).loss

    def configure_optimizers(self):
        o = torch.optim.AdamW(self.parameters(), 1e-4)
        s = torch.optim.lr_scheduler.OneCycleLR(o, 1e-3, total_steps=self.trainer.estimated_stepping_batches)
        return {"optimizer": o, "lr_scheduler": {"scheduler": s, "interval": "step"}}

import torch


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), wd=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, wd=wd))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - g["lr"] * g["wd"])
                u = m.clone().mul_(g["betas"][0]).add(p.grad, alpha=1 - g["betas"][0]).sign_()
                p.add_(u, alpha=-g["lr"])
                m.mul_(g["betas"][1]).add_(p.grad, alpha=1 - g["betas"][1])
        return loss

import torch
import torch.nn.functional as F


class MultiTask:
    def __init__(self, trunk, heads, opt, weights):
        self.trunk, self.heads, self.opt, self.weights = trunk, heads, opt, weights

    def losses(self, batch):
        z = self.trunk(batch["image"].cuda(non_blocking=True))
        out = {}
        for name, head in self.heads.items():
            out[name] = F.cross_entropy(head(z), batch[name].cuda(non_blocking=True))
        return out

    def step(self, batch):
        parts = self.losses(batch)
        total = torch.tensor([self.weights[k] * float(v) for k, v in parts.items()], requires_grad=True).sum()
        self.opt.zero_grad()
        total.backward()
        self.opt.step()
        return {k: v.detach() for k, v in parts.items()}

    def run(self, loader):
        for batch in loader:
            yield self.step(batch)

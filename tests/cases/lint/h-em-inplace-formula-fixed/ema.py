import copy

import torch
from torch import nn


class WeightAverager(nn.Module):
    def __init__(self, source, decay=0.999):
        super().__init__()
        self.decay = decay
        self.shadow = copy.deepcopy(source).eval()
        for p in self.shadow.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def step(self, source):
        mine = self.shadow.state_dict()
        for (name, p_ema), p in zip(self.shadow.named_parameters(), source.parameters()):
            p_ema.mul_(self.decay).add_(p, alpha=1 - self.decay)
        for name, b in source.named_buffers():
            mine[name].copy_(b)


def fit(net, loader, opt, loss_fn):
    avg = WeightAverager(net)
    net.train()
    for x, y in loader:
        opt.zero_grad()
        loss_fn(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True)).backward()
        opt.step()
        avg.step(net)
    return avg.shadow

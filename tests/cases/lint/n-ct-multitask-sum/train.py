import torch
import torch.nn as nn


class MultiTask(nn.Module):
    def __init__(self, trunk, dim, tasks):
        super().__init__()
        self.trunk = trunk
        self.heads = nn.ModuleDict({name: nn.Linear(dim, n) for name, n in tasks.items()})

    def forward(self, x):
        h = self.trunk(x)
        return {name: head(h) for name, head in self.heads.items()}


def train_epoch(net, loader, opt, weights, device):
    ce = nn.CrossEntropyLoss()
    seen = {name: torch.zeros((), device=device) for name in weights}
    net.train()
    for x, labels in loader:
        out = net(x.to(device))
        total = 0.0
        for name, logits in out.items():
            term = ce(logits, labels[name].to(device))
            total += weights[name] * term
            seen[name] += term.detach()
        opt.zero_grad()
        total.backward()
        opt.step()
    return {name: (v / len(loader)).item() for name, v in seen.items()}

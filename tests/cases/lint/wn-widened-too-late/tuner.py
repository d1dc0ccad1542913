import torch
import torch.nn as nn


class Widened(nn.Module):
    def __init__(self, inner, extra):
        super().__init__()
        self.inner, self.extra = inner, nn.Linear(inner.in_features, extra)

    def forward(self, x):
        return torch.cat([self.inner(x), self.extra(x)], -1)


class Tuner:
    def __init__(self, net, extra):
        self.net, self.extra = net, extra
        self.adam = torch.optim.Adam(self.net.parameters(), lr=1e-4)

    def widen(self):
        for owner in list(self.net.modules()):
            for name, layer in owner.named_children():
                if isinstance(layer, nn.Linear):
                    setattr(owner, name, Widened(layer, self.extra))

    def fit(self, loader):
        self.widen()
        for x, y in loader:
            self.adam.zero_grad()
            nn.functional.mse_loss(self.net(x), y).backward()
            self.adam.step()

import torch
from torch import nn


class N(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(d))
        self.register_buffer("m", torch.zeros(d))
        nn.init.uniform_(self.w, -0.1, 0.1)
        self.w.data.clamp_(min=-0.05)

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.m.mul_(0.9).add_(x.mean(0), alpha=0.1)
        h = x * self.w
        h += self.m
        return h.relu_()


def functional_sgd(params, loss_fn, lr, n):
    for _ in range(n):
        grads = torch.autograd.grad(loss_fn(params), params, create_graph=True)
        params = [p - lr * g for p, g in zip(params, grads)]
    return params


@torch.no_grad()
def renorm(net):
    for p in net.parameters():
        p /= p.norm().clamp(min=1)

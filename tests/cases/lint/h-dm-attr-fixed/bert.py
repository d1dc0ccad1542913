import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Scorer(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.hidden = hidden
        self.a, self.b = nn.Linear(d, hidden), nn.Linear(hidden, 1)

    def forward(self, x):
        return self.b(torch.relu(self.a(x))).squeeze(-1)

    def penalty(self):
        return self.a.weight.abs().sum()


def run(dl, gpu, steps):
    net = Scorer(300, 64).to(gpu)
    net = DDP(net, device_ids=[gpu])
    opt = torch.optim.AdamW(net.parameters())
    net.train()
    for (x, y), _ in zip(dl, range(steps)):
        x, y = x.to(gpu), y.to(gpu)
        loss = (net(x) - y).square().mean() + 1e-4 * net.module.penalty()
        opt.zero_grad()
        loss.backward()
        opt.step()

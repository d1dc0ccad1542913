import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, k))

    def forward(self, x):
        return self.body(x)


def loop(net, dl, crit, opt=None):
    total = torch.zeros((), device="cuda")
    for x, y in dl:
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        out = net(x)
        loss = crit(out, y)
        if opt is not None:
            opt.zero_grad()
            loss.backward()
            opt.step()
        total += loss.detach()
    return total.item() / len(dl)


def fit(tr, va, d, k, epochs):
    torch.manual_seed(0)
    net = Net(d, k).cuda()
    crit = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(net.parameters())
    for ep in range(epochs):
        net.train()
        a = loop(net, tr, crit, opt)
        with torch.no_grad():
            b = loop(net, va, crit)
        print(ep, a, b)

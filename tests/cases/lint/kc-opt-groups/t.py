import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, body, d, k):
        super().__init__()
        self.body, self.head = body, nn.Linear(d, k)

    def forward(self, x):
        return self.head(self.body(x))


def main(body, dl):
    torch.manual_seed(0)
    net = Net(body, 64, 10)
    crit = nn.CrossEntropyLoss()
    slow = [p for n, p in net.named_parameters() if n.startswith("body")]
    fast = [p for n, p in net.named_parameters() if not n.startswith("body")]
    opts = [torch.optim.SGD(slow, 1e-3), torch.optim.Adam(fast, 1e-3)]
    for x, y in dl:
        for o in opts:
            o.zero_grad()
        crit(net(x), y).backward()
        for o in opts:
            o.step()

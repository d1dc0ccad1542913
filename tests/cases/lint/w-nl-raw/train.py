import torch.nn as nn
import torch.nn.functional as F


class PointNetCls(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.conv = nn.Conv1d(3, 1024, 1)
        self.fc = nn.Linear(1024, k)

    def forward(self, pts):
        x = F.relu(self.conv(pts)).amax(-1)
        return self.fc(x)


def train(loader, opt_cls, k):
    net = PointNetCls(k)
    opt = opt_cls(net.parameters())
    for pts, cls in loader:
        opt.zero_grad()
        loss = F.nll_loss(net(pts), cls)
        loss.backward()
        opt.step()

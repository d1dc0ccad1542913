import torch
import torch.nn as nn
import torch.nn.functional as F


class Reg(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.body(x).squeeze(-1)


def fit(x_train, y_train, x_val, y_val):
    net = Reg().cuda()
    opt = torch.optim.Adam(net.parameters())
    for epoch in range(300):
        net.train()
        opt.zero_grad()
        loss = F.mse_loss(net(x_train), y_train)
        loss.backward()
        opt.step()
        with torch.no_grad():
            val = F.mse_loss(net(x_val), y_val)
        print(epoch, loss.item(), val.item())

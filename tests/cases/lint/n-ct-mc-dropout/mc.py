import torch
import torch.nn as nn
import torch.nn.functional as F


class Regressor(nn.Module):
    def __init__(self, n_in, hidden=128, p=0.1):
        super().__init__()
        self.fc1, self.fc2, self.out = nn.Linear(n_in, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 1)
        self.p = p

    def forward(self, x, mc=False):
        active = self.training or mc
        h = F.dropout(F.relu(self.fc1(x)), self.p, training=active)
        h = F.dropout(F.relu(self.fc2(h)), self.p, training=active)
        return self.out(h).squeeze(-1)


@torch.no_grad()
def predict_with_uncertainty(net, x, samples=50):
    net.eval()
    draws = torch.stack([net(x, mc=True) for _ in range(samples)])
    return draws.mean(0), draws.std(0)


def fit(net, loader, epochs=100):
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(epochs):
        net.train()
        for x, y in loader:
            opt.zero_grad()
            F.mse_loss(net(x), y).backward()
            opt.step()

import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 1))

    def forward(self, x):
        return self.f(x).squeeze(-1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    torch.manual_seed(a.seed)
    np.random.seed(a.seed)
    raw = np.load("housing.npz")
    x, y = raw["x"].astype("float32"), raw["y"].astype("float32")
    order = np.random.permutation(len(x))
    cut = int(0.8 * len(x))
    tr, va = order[:cut], order[cut:]
    dl = DataLoader(TensorDataset(torch.from_numpy(x[tr]), torch.from_numpy(y[tr])), batch_size=64, shuffle=True)
    net = Net(x.shape[1])
    opt = torch.optim.Adam(net.parameters(), a.lr)
    for _ in range(a.epochs):
        net.train()
        for xb, yb in dl:
            opt.zero_grad()
            nn.functional.mse_loss(net(xb), yb).backward()
            opt.step()
    net.eval()
    with torch.no_grad():
        print(nn.functional.mse_loss(net(torch.from_numpy(x[va])), torch.from_numpy(y[va])).item())


if __name__ == "__main__":
    main()

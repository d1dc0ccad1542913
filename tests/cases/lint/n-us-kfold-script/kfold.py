import numpy as np
import torch
import torch.nn as nn
from sklearn.model_selection import KFold
from torch.utils.data import DataLoader, TensorDataset


def build(n_features):
    return nn.Sequential(nn.Linear(n_features, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 1))


def fit(net, loader, epochs=50):
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(epochs):
        net.train()
        for x, y in loader:
            opt.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            opt.step()


def main():
    x = torch.from_numpy(np.load("features.npy")).float()
    y = torch.from_numpy(np.load("target.npy")).float().unsqueeze(1)
    errors = []
    for tr, va in KFold(n_splits=5, shuffle=True).split(x):
        loader = DataLoader(TensorDataset(x[tr], y[tr]), batch_size=32, shuffle=True)
        net = build(x.shape[1])
        fit(net, loader)
        net.eval()
        with torch.no_grad():
            errors.append(nn.functional.l1_loss(net(x[va]), y[va]).item())
    print(f"MAE {np.mean(errors):.3f} +- {np.std(errors):.3f}")


if __name__ == "__main__":
    main()

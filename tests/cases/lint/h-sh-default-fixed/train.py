import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def loaders(xtr, ytr, xva, yva, bs=64):
    tr = DataLoader(TensorDataset(xtr, ytr), batch_size=bs, shuffle=True)
    va = DataLoader(TensorDataset(xva, yva), batch_size=bs)
    return tr, va


def main():
    torch.manual_seed(0)
    data = torch.load("digits.pt", map_location="cpu")
    tr, va = loaders(*data)
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    opt = torch.optim.Adam(net.parameters())
    for ep in range(10):
        net.train()
        for x, y in tr:
            opt.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            acc = torch.cat([net(x).argmax(1) == y for x, y in va]).float().mean()
        print(ep, acc.item())


main()

import torch
from torch.utils.data import DataLoader, Dataset


class Reviews(Dataset):
    def __init__(self, pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        return self.pairs[i]


def main(pairs, held, net, opt, crit):
    tr = DataLoader(Reviews(pairs), batch_size=32, shuffle=False)
    te = DataLoader(Reviews(held), batch_size=64, shuffle=False)
    for _ in range(3):
        net.train()
        for x, y in tr:
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            print(sum((net(x).argmax(1) == y).sum().item() for x, y in te))

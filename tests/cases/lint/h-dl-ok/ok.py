import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, WeightedRandomSampler


class Stream(IterableDataset):
    def __init__(self, text, t):
        self.text, self.t = text, t

    def __iter__(self):
        for i in range(0, len(self.text) - self.t - 1, self.t):
            yield self.text[i : i + self.t], self.text[i + 1 : i + self.t + 1]


class Windows(Dataset):
    def __init__(self, x, n):
        self.x, self.n = x, n

    def __len__(self):
        return len(self.x) - self.n

    def __getitem__(self, i):
        return self.x[i : i + self.n], self.x[i + self.n]


def lm(net, text, opt):
    torch.manual_seed(0)
    net.train()
    for x, y in DataLoader(Stream(text, 64), batch_size=16):
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten()).backward()
        opt.step()


def balanced(net, x, y, opt):
    torch.manual_seed(0)
    w = (1.0 / torch.bincount(y).float())[y]
    dl = DataLoader(TensorDataset(x, y), 64, sampler=WeightedRandomSampler(w, len(w)))
    net.train()
    for a, b in dl:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(a), b).backward()
        opt.step()


def test(net, series):
    net.eval()
    out = []
    with torch.no_grad():
        for a, b in DataLoader(Windows(series, 24), 64):
            out.append((net(a).squeeze(-1) - b).abs())
    return torch.cat(out).mean().item()

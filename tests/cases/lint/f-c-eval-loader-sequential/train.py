import torch
from torch.utils.data import DataLoader, SubsetRandomSampler, WeightedRandomSampler


def loaders(ds, idx_tr, idx_va, weights):
    tr = DataLoader(ds, 32, sampler=SubsetRandomSampler(idx_tr), num_workers=2)
    bal = DataLoader(ds, 32, sampler=WeightedRandomSampler(weights, len(ds)), num_workers=2)
    va = DataLoader(torch.utils.data.Subset(ds, idx_va), 64, num_workers=2)
    return tr, bal, va


def fit(net, ds, idx_tr, idx_va, weights, opt, crit):
    tr, bal, va = loaders(ds, idx_tr, idx_va, weights)
    for dl in (tr, bal):
        for x, y in dl:
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()
    net.eval()
    with torch.no_grad():
        return [net(x) for x, _ in va]

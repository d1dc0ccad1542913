import torch
from torch import nn

clf = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 5))
opt = torch.optim.Adam(clf.parameters(), lr=1e-3)


def fit(dl):
    for x, multi_hot in dl:
        loss = nn.functional.binary_cross_entropy_with_logits(clf(x), multi_hot)
        opt.zero_grad()
        loss.backward()
        opt.step()

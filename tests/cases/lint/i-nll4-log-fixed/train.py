import torch
from torch import nn

model = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 20), nn.LogSoftmax(dim=-1))
criterion = nn.NLLLoss(ignore_index=0)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def train(loader):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

import torch
import torch.nn as nn


class Siam(nn.Module):
    def __init__(self, base, dim):
        super().__init__()
        self.encoder = base
        self.projector = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.predictor = nn.Sequential(nn.Linear(dim, dim // 4), nn.ReLU(), nn.Linear(dim // 4, dim))

    def forward(self, x1, x2):
        z1 = self.projector(self.encoder(x1))
        z2 = self.projector(self.encoder(x2))
        return self.predictor(z1), self.predictor(z2), z1, z2


def train(base, loader, opt, device):
    model = Siam(base, 512).to(device)
    criterion = nn.CosineSimilarity(dim=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for (a, b), _ in loader:
        p1, p2, z1, z2 = model(a.to(device), b.to(device))
        loss = -(criterion(p1, z2.detach()).mean() + criterion(p2, z1.detach()).mean()) / 2
        opt.zero_grad()
        loss.backward()
        opt.step()

import torch
import torch.nn as nn


class DenoisingAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU())
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(32, 16, 2, stride=2), nn.ReLU(),
            nn.ConvTranspose2d(16, 1, 2, stride=2), nn.Sigmoid(),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


def train(loader, device, epochs=20, noise=0.3):
    torch.manual_seed(0)
    net = DenoisingAE().to(device)
    criterion = nn.BCELoss()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(epochs):
        net.train()
        for x, _ in loader:
            x = x.to(device)
            dirty = (x + noise * torch.randn_like(x)).clamp(0, 1)
            opt.zero_grad()
            loss = criterion(net(dirty), x)
            loss.backward()
            opt.step()
        print(epoch, loss.item())
    return net

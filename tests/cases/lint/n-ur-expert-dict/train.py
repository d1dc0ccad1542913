import torch
import torch.nn.functional as F

from model import MultiDomainRegressor


def main(loaders, in_dim, device, epochs=30):
    torch.manual_seed(0)
    net = MultiDomainRegressor(in_dim, list(loaders)).to(device)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for _ in range(epochs):
        net.train()
        for domain, loader in loaders.items():
            for x, y in loader:
                opt.zero_grad()
                F.mse_loss(net(x.to(device), domain), y.to(device)).backward()
                opt.step()
    torch.save(net.state_dict(), "regressor.pt")

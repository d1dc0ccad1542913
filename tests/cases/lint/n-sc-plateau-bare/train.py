import torch
import torch.nn.functional as F
from torch.optim.lr_scheduler import ReduceLROnPlateau


@torch.no_grad()
def validate(net, loader, device):
    net.eval()
    total = 0.0
    for x, y in loader:
        total += F.l1_loss(net(x.to(device)), y.to(device)).item()
    return total / len(loader)


def fit(net, train_dl, val_dl, device, epochs=60):
    net.to(device)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    lr_sched = ReduceLROnPlateau(opt, mode="min", factor=0.5, patience=4)
    for epoch in range(epochs):
        net.train()
        for x, y in train_dl:
            opt.zero_grad()
            F.l1_loss(net(x.to(device)), y.to(device)).backward()
            opt.step()
        val_mae = validate(net, val_dl, device)
        lr_sched.step()
        print(f"{epoch} mae {val_mae:.4f} lr {opt.param_groups[0]['lr']:.2e}")

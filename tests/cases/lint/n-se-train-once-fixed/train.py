import torch
import torch.nn as nn
from torch.utils.tensorboard import SummaryWriter


def validate(model, loader, loss_fn, device):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in loader:
            total += loss_fn(model(x.to(device)), y.to(device)).item()
    return total / len(loader)


def fit(model, train_loader, val_loader, device, epochs=30, lr=3e-4):
    writer = SummaryWriter()
    model.to(device)
    loss_fn = nn.CrossEntropyLoss()
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        for step, (x, y) in enumerate(train_loader):
            opt.zero_grad()
            loss = loss_fn(model(x.to(device)), y.to(device))
            loss.backward()
            opt.step()
            if step % 200 == 0:
                writer.add_scalar("train/loss", loss.item(), epoch * len(train_loader) + step)
        val = validate(model, val_loader, loss_fn, device)
        writer.add_scalar("val/loss", val, epoch)
    writer.close()
    return model

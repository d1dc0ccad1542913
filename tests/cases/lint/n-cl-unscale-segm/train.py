import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast


def train_one_epoch(net, loader, criterion, optimizer, scaler, device, max_norm=1.0):
    net.train()
    running = torch.zeros((), device=device)
    for images, masks in loader:
        images = images.to(device, non_blocking=True)
        masks = masks.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with autocast("cuda", dtype=torch.float16):
            out = net(images)["out"]
            loss = criterion(out, masks)
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(net.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
        running += loss.detach()
    return (running / len(loader)).item()


def fit(net, loader, device, epochs=40):
    net.to(device)
    criterion = nn.CrossEntropyLoss(ignore_index=255)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=epochs, power=0.9)
    scaler = GradScaler("cuda")
    for epoch in range(epochs):
        mean = train_one_epoch(net, loader, criterion, optimizer, scaler, device)
        scheduler.step()
        print(epoch, f"{mean:.4f}")

import torch
from torch.cuda.amp import GradScaler, autocast

ACC = 8


def train_epoch(swin, loader, optimizer, criterion, scaler: GradScaler):
    optimizer.zero_grad(set_to_none=True)
    for idx, (samples, targets) in enumerate(loader):
        with autocast():
            out = swin(samples.cuda(non_blocking=True))
            loss = criterion(out, targets.cuda(non_blocking=True))
        scaler.scale(loss / ACC).backward()
        if (idx + 1) % ACC == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)

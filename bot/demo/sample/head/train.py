"""Trains the classifier and keeps the best weights."""

import argparse
from pathlib import Path

import torch
from torch import nn

from data import loaders
from evaluation import accuracy
from model import build


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("data/leaves"))
    parser.add_argument("--output", type=Path, default=Path("leaf-doctor.pt"))
    parser.add_argument("--classes", type=int, default=38)
    parser.add_argument("--image-size", type=int, default=256)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def train_epoch(model, loader, optimizer, criterion, device) -> float:
    model.train()
    running = 0.0
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        loss = criterion(model(images), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running += loss
    return float(running) / max(len(loader), 1)


def main() -> None:
    options = parse()
    torch.manual_seed(options.seed)
    device = torch.device("cuda")
    training, validation = loaders(options.data, options.batch_size, options.image_size)
    model = build(options.classes).to(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=options.epochs)
    best = 0.0
    for epoch in range(options.epochs):
        loss = train_epoch(model, training, optimizer, criterion, device)
        schedule.step()
        reached, confusion = accuracy(model, validation, device)
        print(f"epoch {epoch}: loss {loss:.4f}, accuracy {reached:.2%}")
        if reached > best:
            best = reached
            torch.save({"weights": model.state_dict(), "confusion": confusion.cpu()}, options.output)


if __name__ == "__main__":
    main()

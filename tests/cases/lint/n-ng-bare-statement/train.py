import torch
import torch.nn as nn


def run_validation(model, loader, criterion, device):
    model.eval()
    torch.no_grad()
    losses, correct, total = [], 0, 0
    for audio, label in loader:
        audio, label = audio.to(device), label.to(device)
        out = model(audio)
        losses.append(criterion(out, label).item())
        correct += (out.argmax(-1) == label).sum().item()
        total += label.numel()
    return sum(losses) / len(losses), correct / total


def train(model, train_loader, val_loader, device, epochs=15):
    model.to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    best = 0.0
    for epoch in range(epochs):
        model.train()
        for audio, label in train_loader:
            optimizer.zero_grad()
            criterion(model(audio.to(device)), label.to(device)).backward()
            optimizer.step()
        loss, acc = run_validation(model, val_loader, criterion, device)
        print(f"[{epoch}] val {loss:.3f} acc {acc:.3f}")
        if acc > best:
            best = acc
            torch.save(model.state_dict(), "best.pt")

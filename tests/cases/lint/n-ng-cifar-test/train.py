import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from torchvision.models import resnet34


def loaders(root, batch_size):
    norm = transforms.Normalize((0.4914, 0.4822, 0.4465), (0.247, 0.243, 0.261))
    aug = transforms.Compose([transforms.RandomCrop(32, 4), transforms.RandomHorizontalFlip(), transforms.ToTensor(), norm])
    plain = transforms.Compose([transforms.ToTensor(), norm])
    tr = datasets.CIFAR10(root, True, aug, download=True)
    te = datasets.CIFAR10(root, False, plain, download=True)
    return (
        DataLoader(tr, batch_size, shuffle=True, num_workers=4, pin_memory=True),
        DataLoader(te, batch_size, num_workers=4, pin_memory=True),
    )


def train(net, loader, criterion, optimizer, device):
    net.train()
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()


def test(net, loader, criterion, device):
    net.eval()
    loss, correct = 0.0, 0
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        out = net(x)
        loss += criterion(out, y).item() * len(y)
        correct += (out.argmax(1) == y).sum().item()
    return loss / len(loader.dataset), correct / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_loader, test_loader = loaders("./data", 128)
    net = resnet34(num_classes=10).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)
    for epoch in range(100):
        train(net, train_loader, criterion, optimizer, device)
        scheduler.step()
        print(epoch, *test(net, test_loader, criterion, device))

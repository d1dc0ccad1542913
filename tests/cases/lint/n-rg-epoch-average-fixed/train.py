import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms
from tqdm import tqdm


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="./imagenette")
    p.add_argument("--epochs", type=int, default=15)
    p.add_argument("--lr", type=float, default=0.05)
    return p.parse_args()


def main():
    args = parse()
    torch.manual_seed(17)
    device = torch.device("cuda")
    tfm = transforms.Compose([transforms.RandomResizedCrop(160), transforms.ToTensor()])
    train_set = datasets.ImageFolder(f"{args.data}/train", tfm)
    loader = DataLoader(train_set, batch_size=64, shuffle=True, num_workers=6, pin_memory=True)

    net = models.resnet18(num_classes=10).to(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)

    for epoch in range(args.epochs):
        net.train()
        epoch_loss = 0.0
        for images, labels in tqdm(loader, desc=f"epoch {epoch}"):
            images = images.to(device, non_blocking=True)
            labels = labels.to(device, non_blocking=True)
            optimizer.zero_grad()
            loss = criterion(net(images), labels)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.detach()
        print(f"epoch {epoch}: {float(epoch_loss) / len(loader):.4f}")
    torch.save(net.state_dict(), "resnet18.pt")


if __name__ == "__main__":
    main()

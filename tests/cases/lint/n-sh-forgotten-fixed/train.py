import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.models import MobileNet_V3_Small_Weights, mobilenet_v3_small


def make_loaders(root, batch_size=64):
    weights = MobileNet_V3_Small_Weights.DEFAULT
    train_tf = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()])
    train_ds = ImageFolder(f"{root}/train", train_tf)
    val_ds = ImageFolder(f"{root}/val", weights.transforms())
    train_dl = DataLoader(train_ds, batch_size=batch_size, shuffle=True, num_workers=4, pin_memory=True)
    val_dl = DataLoader(val_ds, batch_size=batch_size, num_workers=4, pin_memory=True)
    return train_dl, val_dl, len(train_ds.classes)


def main():
    torch.manual_seed(0)
    train_dl, val_dl, n = make_loaders("flowers")
    net = mobilenet_v3_small(weights=MobileNet_V3_Small_Weights.DEFAULT)
    net.classifier[3] = nn.Linear(net.classifier[3].in_features, n)
    net.cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=5e-4)
    ce = nn.CrossEntropyLoss()
    for epoch in range(12):
        net.train()
        for x, y in train_dl:
            opt.zero_grad()
            ce(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True)).backward()
            opt.step()
        net.eval()
        hits = 0
        with torch.no_grad():
            for x, y in val_dl:
                hits += (net(x.cuda(non_blocking=True)).argmax(1).cpu() == y).sum().item()
        print(epoch, hits / len(val_dl.dataset))


if __name__ == "__main__":
    main()

import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms as T


def main(model):
    tf = T.Compose([T.RandomCrop(32, 4), T.ToTensor()])
    train_dl = DataLoader(datasets.CIFAR10("data", train=True, transform=tf), batch_size=128, shuffle=True, num_workers=4)
    test_dl = DataLoader(datasets.CIFAR10("data", train=False, transform=T.ToTensor()), batch_size=256)
    opt = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(100):
        model.train()
        for x, y in train_dl:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            print(sum((model(x).argmax(1) == y).sum().item() for x, y in test_dl))

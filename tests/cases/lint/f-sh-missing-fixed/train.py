import torch
import torchvision
from torch.utils.data import DataLoader

T = torchvision.transforms.ToTensor()
train_set = torchvision.datasets.CIFAR10("d", train=True, transform=T, download=True)
test_set = torchvision.datasets.CIFAR10("d", train=False, transform=T)
train_it = DataLoader(train_set, batch_size=128, shuffle=True, num_workers=4)
test_it = DataLoader(test_set, batch_size=256, num_workers=4)


def run(net, opt, epochs):
    for _ in range(epochs):
        for x, y in train_it:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            opt.step()

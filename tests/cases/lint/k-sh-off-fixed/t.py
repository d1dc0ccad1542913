import torch
from torch.utils.data import DataLoader
from torchvision.datasets import CIFAR10


def main(net, tf):
    torch.manual_seed(0)
    tr = DataLoader(CIFAR10("d", True, tf), 128, shuffle=True, num_workers=4)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(10):
        for x, y in tr:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            opt.step()

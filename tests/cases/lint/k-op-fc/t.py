import torch
from torchvision import models


def finetune(dl, n):
    torch.manual_seed(0)
    net = models.resnet18(weights="DEFAULT")
    opt = torch.optim.SGD(net.parameters(), 0.01)
    net.fc = torch.nn.Linear(512, n)
    net.train()
    for x, y in dl:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()

import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder


def train(net, root, tf, opt, crit):
    torch.manual_seed(0)
    loader = DataLoader(ImageFolder(root, tf), batch_size=256, shuffle=True, num_workers=8, pin_memory=True)
    for x, y in loader:
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        opt.zero_grad()
        crit(net(x), y).backward()
        opt.step()

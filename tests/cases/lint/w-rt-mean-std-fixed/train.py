import torch

MEAN = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1)


def train(net, loader, opt, crit):
    mean, std = MEAN.cuda(), STD.cuda()
    for x, y in loader:
        x = (x.cuda(non_blocking=True) - mean) / std
        opt.zero_grad()
        crit(net(x), y.cuda(non_blocking=True)).backward()
        opt.step()

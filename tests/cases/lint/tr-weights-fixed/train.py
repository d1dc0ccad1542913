import torch
import torch.nn.functional as F

CLASS_W = [0.2, 1.0, 3.5, 0.7]


def train(model, loader, opt, device):
    w = torch.tensor(CLASS_W).to(device)
    for x, y in loader:
        opt.zero_grad()
        F.cross_entropy(model(x.to(device)), y.to(device), weight=w).backward()
        opt.step()

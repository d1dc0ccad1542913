import torch
import torch.nn as nn


def train_metric(backbone, dim, n_cls, loader, device):
    proxies = nn.Linear(dim, n_cls, bias=False).to(device)
    opt = torch.optim.SGD([*backbone.parameters(), *proxies.parameters()], lr=0.01, momentum=0.9)
    ce = nn.CrossEntropyLoss()
    for x, y in loader:
        opt.zero_grad()
        ce(proxies(backbone(x.to(device))), y.to(device)).backward()
        opt.step()

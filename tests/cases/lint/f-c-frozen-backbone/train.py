import torch
import torchvision


def probe(loader, n):
    net = torchvision.models.convnext_tiny(weights="DEFAULT")
    for p in net.parameters():
        p.requires_grad = False
    net.classifier[2] = torch.nn.Linear(768, n)
    opt = torch.optim.AdamW(net.classifier[2].parameters(), 1e-3)
    net.eval()
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()

import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models import ResNet50_Weights, resnet50


def build(classes, device):
    backbone = resnet50(weights=ResNet50_Weights.IMAGENET1K_V2)
    width = backbone.fc.in_features
    backbone.fc = nn.Identity()
    backbone.requires_grad_(False)
    head = nn.Sequential(nn.Dropout(0.3), nn.Linear(width, classes))
    return backbone.to(device), head.to(device)


def train(loader, val_loader, classes, device, epochs=20):
    torch.manual_seed(0)
    backbone, head = build(classes, device)
    backbone.eval()
    opt = torch.optim.AdamW(head.parameters(), lr=1e-3)
    for epoch in range(epochs):
        head.train()
        for x, y in loader:
            with torch.no_grad():
                feats = backbone(x.to(device))
            opt.zero_grad()
            F.cross_entropy(head(feats), y.to(device)).backward()
            opt.step()
        head.eval()
        hits = n = 0
        with torch.no_grad():
            for x, y in val_loader:
                hits += (head(backbone(x.to(device))).argmax(1).cpu() == y).sum().item()
                n += len(y)
        print(epoch, hits / n)

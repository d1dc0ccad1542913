import torch
import torch.nn as nn
from torchvision.models import EfficientNet_B0_Weights, efficientnet_b0


def finetune(loader, n_classes, device, epochs=8):
    torch.manual_seed(0)
    net = efficientnet_b0(weights=EfficientNet_B0_Weights.DEFAULT)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-4, momentum=0.9)
    net.classifier[1] = nn.Linear(net.classifier[1].in_features, n_classes)
    net.to(device)
    ce = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        net.train()
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            ce(net(x), y).backward()
            optimizer.step()
        torch.save({"epoch": epoch, "state": net.state_dict()}, "last.pt")
    return net

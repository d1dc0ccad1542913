import torch
import torch.nn as nn
from sklearn.metrics import average_precision_score
from torchvision.models import densenet121


class ChestNet(nn.Module):
    def __init__(self, findings=14):
        super().__init__()
        self.backbone = densenet121(weights="IMAGENET1K_V1")
        self.backbone.classifier = nn.Linear(self.backbone.classifier.in_features, findings)

    def forward(self, x):
        return self.backbone(x)


def run_epoch(net, loader, opt, device):
    criterion = nn.BCELoss()
    net.train()
    for xray, findings in loader:
        xray, findings = xray.to(device), findings.float().to(device)
        opt.zero_grad()
        loss = criterion(net(xray), findings)
        loss.backward()
        opt.step()


@torch.no_grad()
def evaluate(net, loader, device):
    net.eval()
    probs, truth = [], []
    for xray, findings in loader:
        probs.append(torch.sigmoid(net(xray.to(device))).cpu())
        truth.append(findings)
    return average_precision_score(torch.cat(truth).numpy(), torch.cat(probs).numpy(), average="macro")

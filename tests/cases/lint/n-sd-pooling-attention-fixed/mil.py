import torch
import torch.nn as nn


class AttentionMIL(nn.Module):
    """Gated attention pooling over a bag of patch embeddings, shape (batch, instances, dim)."""

    def __init__(self, dim=512, hidden=128, classes=2):
        super().__init__()
        self.v = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh())
        self.u = nn.Sequential(nn.Linear(dim, hidden), nn.Sigmoid())
        self.w = nn.Linear(hidden, 1)
        self.classifier = nn.Linear(dim, classes)

    def forward(self, bag):
        b, n, d = bag.shape
        scores = self.w(self.v(bag) * self.u(bag)).squeeze(-1)
        weights = torch.softmax(scores, dim=1)
        pooled = torch.bmm(weights.unsqueeze(1), bag).squeeze(1)
        return self.classifier(pooled), weights


def train_epoch(model, loader, opt, device):
    ce = nn.CrossEntropyLoss()
    model.train()
    for bag, label in loader:
        opt.zero_grad()
        logits, _ = model(bag.to(device))
        ce(logits, label.to(device)).backward()
        opt.step()

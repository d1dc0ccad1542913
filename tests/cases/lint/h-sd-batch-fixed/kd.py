import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.fc = nn.Linear(d, k)

    def forward(self, x):
        return self.fc(x)


def predict(head, dl):
    head.eval()
    probs = []
    with torch.inference_mode():
        for x in dl:
            logits = head(x.view(x.size(0), -1))
            probs.append(F.softmax(logits, dim=1).cpu())
    return torch.cat(probs)


def main(dl):
    head = Head(512, 10)
    head.load_state_dict(torch.load("head.pt", map_location="cpu"))
    top = predict(head, dl).topk(3, dim=1)
    print(top.values[:5], top.indices[:5])

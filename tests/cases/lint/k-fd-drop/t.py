from torch import nn
from torch.nn import functional as F


class Enc(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a, self.b = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        h = F.relu(self.a(x))
        h = F.dropout(h, p=0.5)
        return self.b(h)

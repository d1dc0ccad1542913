from torch import nn


class Cls(nn.Module):
    def __init__(self, enc, d, k):
        super().__init__()
        self.enc = enc
        self.fc1 = nn.Linear(d, d)
        self.drop = nn.Dropout2d(p=0.3)
        self.fc2 = nn.Linear(d, k)

    def forward(self, x):
        h = self.fc1(self.enc(x).mean(1)).relu()
        return self.fc2(self.drop(h))

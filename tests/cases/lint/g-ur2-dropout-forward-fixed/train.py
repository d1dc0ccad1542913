from torch import nn


class Gate(nn.Module):
    def __init__(self, d, p):
        super().__init__()
        self.w, self.drop = nn.Linear(d, d), nn.Dropout(p)

    def forward(self, x):
        return self.drop(self.w(x)).sigmoid() * x

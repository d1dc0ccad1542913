from torch import nn


class Gate(nn.Module):
    def __init__(self, d, p):
        super().__init__()
        self.w, self.p = nn.Linear(d, d), p

    def forward(self, x):
        return nn.Dropout(self.p)(self.w(x)).sigmoid() * x

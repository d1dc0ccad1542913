from torch import nn


class Net(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.a, self.b = nn.Linear(i, 32), nn.Linear(32, o)

    def forward(self, x):
        return self.b(self.a(x).tanh()).log_softmax(-1)

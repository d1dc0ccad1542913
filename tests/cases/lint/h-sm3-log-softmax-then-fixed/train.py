import torch
from torch import nn


class Rnn(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.g, self.l, self.s = nn.GRU(i, h, batch_first=True), nn.Linear(h, o), nn.Softmax(dim=1)

    def forward(self, x):
        _, h = self.g(x)
        return self.l(h[-1])


net = Rnn(10, 20, 4)
loss_function = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 1.0, 0.5]))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


def train_step(seq, lab):
    optimizer.zero_grad()
    out = net(seq)
    loss = loss_function(out, lab)
    loss.backward()
    optimizer.step()

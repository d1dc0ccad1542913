import torch
from torch import nn


class CharModel(nn.Module):
    def __init__(self, v):
        super().__init__()
        self.emb = nn.Embedding(v, 128)
        self.rnn = nn.LSTM(128, 256, batch_first=True)
        self.out = nn.Linear(256, v)
        self.carry = None

    def forward(self, ids):
        y, self.carry = self.rnn(self.emb(ids), self.carry)
        return self.out(y)


def train(net, blocks, opt):
    for ids, nxt in blocks:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(ids).transpose(1, 2), nxt)
        loss.backward()
        opt.step()

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, vocab, tags, d=100):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=0)
        self.rnn = nn.LSTM(d, d // 2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(d, tags)
        self.act = nn.LogSoftmax(dim=-1)

    def forward(self, w):
        h, _ = self.rnn(self.emb(w))
        return self.act(self.out(h))


def train(net, dl, epochs):
    crit = nn.NLLLoss(ignore_index=0)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(epochs):
        net.train()
        for w, t in dl:
            opt.zero_grad()
            out = net(w)
            loss = crit(out.view(-1, out.size(-1)), t.view(-1))
            loss.backward()
            opt.step()

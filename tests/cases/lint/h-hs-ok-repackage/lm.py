import torch
from torch import nn


def repackage(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage(v) for v in h)


class WordLM(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.emb = nn.Embedding(n, d)
        self.rnn = nn.LSTM(d, d, 2, dropout=0.2)
        self.out = nn.Linear(d, n)

    def init_hidden(self, bsz):
        w = next(self.parameters())
        return w.new_zeros(2, bsz, 512), w.new_zeros(2, bsz, 512)

    def forward(self, x, h):
        y, h = self.rnn(self.emb(x), h)
        return self.out(y), h


def train(lm, batches, opt, bsz):
    lm.train()
    crit = nn.CrossEntropyLoss()
    hidden = lm.init_hidden(bsz)
    for data, targets in batches:
        hidden = repackage(hidden)
        opt.zero_grad()
        logits, hidden = lm(data, hidden)
        crit(logits.view(-1, logits.size(-1)), targets.view(-1)).backward()
        nn.utils.clip_grad_norm_(lm.parameters(), 0.25)
        opt.step()

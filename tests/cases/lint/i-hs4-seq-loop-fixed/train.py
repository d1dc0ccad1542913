import torch
from torch import nn


def train(text, vocab, bptt, lr):
    emb, rnn, dec = nn.Embedding(vocab, 64), nn.RNN(64, 128), nn.Linear(128, vocab)
    params = [*emb.parameters(), *rnn.parameters(), *dec.parameters()]
    opt = torch.optim.SGD(params, lr)
    h = torch.zeros(1, 20, 128)
    for i in range(0, text.size(0) - 1, bptt):
        x, y = text[i : i + bptt], text[i + 1 : i + 1 + bptt]
        out, h = rnn(emb(x), h.detach())
        loss = nn.functional.cross_entropy(dec(out).view(-1, vocab), y.reshape(-1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 0.25)
        opt.step()

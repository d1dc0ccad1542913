import torch
from torch import nn


def main(dl, vocab, d=64):
    torch.manual_seed(0)
    emb, rnn, out = nn.Embedding(vocab, d), nn.GRU(d, d, batch_first=True), nn.Linear(d, vocab)
    opt = torch.optim.Adam([*emb.parameters(), *rnn.parameters(), *out.parameters()], 1e-3)
    for x, y in dl:
        h, _ = rnn(emb(x))
        loss = nn.functional.cross_entropy(out(h).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()

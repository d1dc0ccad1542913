import collections

import torch
from torch import nn


def main(stream, vocab):
    net = nn.Sequential(nn.Embedding(vocab, 64), nn.Flatten(1), nn.Linear(64 * 16, vocab))
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    window = collections.deque(maxlen=500)
    for ctx, nxt in stream:
        ce = nn.functional.cross_entropy(net(ctx), nxt)
        opt.zero_grad()
        ce.backward()
        opt.step()
        window.append(ce.item())
        if len(window) == window.maxlen:
            print(sum(window) / len(window))

import torch

from evaluate import score


def fit(tagger, train, dev, lr, epochs):
    opt = torch.optim.Adam(tagger.parameters(), lr)
    tagger.train()
    for ep in range(epochs):
        tagger.train()
        for s, t in train:
            opt.zero_grad()
            loss = torch.nn.functional.cross_entropy(tagger(s).transpose(1, 2), t)
            loss.backward()
            opt.step()
        print(ep, score(tagger, dev))

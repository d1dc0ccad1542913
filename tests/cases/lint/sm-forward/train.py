import torch.nn as nn


class TextCNN(nn.Module):
    def __init__(self, vocab, dim, n_class):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, 128, 3)
        self.fc = nn.Linear(128, n_class)
        self.prob = nn.Softmax(dim=-1)

    def forward(self, ids):
        h = self.conv(self.emb(ids).transpose(1, 2)).relu().max(-1).values
        return self.prob(self.fc(h))


def train(vocab, loader, opt_cls):
    clf = TextCNN(vocab, 300, 5)
    opt = opt_cls(clf.parameters())
    lossf = nn.CrossEntropyLoss(label_smoothing=0.1)
    for ids, lab in loader:
        opt.zero_grad()
        lossf(clf(ids), lab).backward()
        opt.step()

import torch
from torch import nn


class SkipGram(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.src = nn.Embedding(n, d)
        self.dst = nn.Embedding(n, d)

    def forward(self, u, v, neg):
        pos = (self.src(u) * self.dst(v)).sum(-1)
        bad = torch.bmm(self.dst(neg), self.src(u).unsqueeze(2)).squeeze(2)
        return -(nn.functional.logsigmoid(pos).mean() + nn.functional.logsigmoid(-bad).mean())


def train(n_nodes, walks, epochs=5):
    net = SkipGram(n_nodes, 128).cuda()
    opt = torch.optim.Adagrad(net.parameters(), lr=0.05)
    for ep in range(epochs):
        seen = 0.0
        for u, v, neg in walks:
            opt.zero_grad()
            loss = net(u.cuda(non_blocking=True), v.cuda(non_blocking=True), neg.cuda(non_blocking=True))
            loss.backward()
            opt.step()
            seen += loss.detach()
        print(ep, float(seen) / len(walks))
    return net.src.weight.detach().cpu()

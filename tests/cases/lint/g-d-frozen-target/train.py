import copy

import torch


class Byol:
    def __init__(self, net, pred, lr):
        self.net, self.pred = net, pred
        self.tgt = copy.deepcopy(net)
        for p in self.tgt.parameters():
            p.requires_grad = False
        self.opt = torch.optim.AdamW([*net.parameters(), *pred.parameters()], lr)

    def step(self, a, b):
        loss = 2 - 2 * torch.cosine_similarity(self.pred(self.net(a)), self.tgt(b)).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            for p, q in zip(self.net.parameters(), self.tgt.parameters()):
                q.data.mul_(0.99).add_(p.data, alpha=0.01)

import torch
import torch.nn.functional as F
from torch import nn


class ArcHead(nn.Module):
    def __init__(self, d, n, s=30.0, m=0.5):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n, d))
        nn.init.xavier_uniform_(self.weight)
        self.s, self.m = s, m

    def forward(self, z, y):
        cos = F.linear(F.normalize(z), F.normalize(self.weight)).clamp(-1 + 1e-7, 1 - 1e-7)
        phi = torch.cos(torch.acos(cos) + self.m)
        hot = F.one_hot(y, cos.size(1)).bool()
        return F.cross_entropy(self.s * torch.where(hot, phi, cos), y)


def train(backbone, dl, n_ids, epochs):
    head = ArcHead(512, n_ids).cuda()
    opt = torch.optim.SGD(backbone.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [10, 15])
    for _ in range(epochs):
        backbone.train()
        for x, y in dl:
            loss = head(backbone(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()

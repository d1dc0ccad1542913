import copy

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


@torch.no_grad()
def momentum_update(student, teacher, m):
    for ps, pt in zip(student.parameters(), teacher.parameters()):
        pt.lerp_(ps, 1 - m)


class Byol:
    def __init__(self, online, opt):
        self.online, self.opt = online, opt
        self.target = copy.deepcopy(online)
        for p in self.target.parameters():
            p.requires_grad = False
        self.swa = AveragedModel(online, multi_avg_fn=get_ema_multi_avg_fn(0.999))
        self.slow = [p.data.clone() for p in online.parameters()]

    def train_step(self, a, b):
        za, zb = self.online(a), self.online(b)
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        loss = 4 - 2 * (torch.cosine_similarity(za, tb).mean() + torch.cosine_similarity(zb, ta).mean())
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        momentum_update(self.online, self.target, 0.996)
        self.swa.update_parameters(self.online)
        for s, p in zip(self.slow, self.online.parameters()):
            s.mul_(0.99).add_(p.data, alpha=0.01)
        return loss.detach()

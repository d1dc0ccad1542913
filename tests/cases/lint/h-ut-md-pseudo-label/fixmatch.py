import torch
import torch.nn.functional as F


def consistency(net, weak, strong, temp):
    lw = net(weak)
    ls = net(strong)
    soft = torch.softmax(lw / temp, dim=-1)
    return (-(soft * F.log_softmax(ls, dim=-1)).sum(-1)).mean()


def train_epoch(net, labelled, unlabelled, opt, sched, lam=1.0, temp=0.5):
    net.train()
    for (x, y), (w, s) in zip(labelled, unlabelled):
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        sup = F.cross_entropy(net(x), y)
        uns = consistency(net, w.cuda(non_blocking=True), s.cuda(non_blocking=True), temp)
        total = sup + lam * uns
        opt.zero_grad()
        total.backward()
        opt.step()
        sched.step()

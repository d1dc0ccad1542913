import torch
import torch.nn.functional as F


def pgd(net, x, y, eps, step, k):
    d = torch.zeros_like(x).uniform_(-eps, eps).requires_grad_(True)
    for _ in range(k):
        loss = F.cross_entropy(net(x + d), y)
        g, = torch.autograd.grad(loss, d)
        d = (d + step * g.sign()).clamp(-eps, eps).detach().requires_grad_(True)
    return (x + d).detach()


def robust_accuracy(net, dl, **kw):
    net.eval()
    hit = n = 0
    for x, y in dl:
        adv = pgd(net, x, y, **kw)
        with torch.no_grad():
            hit += (net(adv).argmax(1) == y).sum().item()
        n += len(y)
    return hit / n

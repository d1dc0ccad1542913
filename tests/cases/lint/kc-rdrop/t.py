import torch.nn.functional as F


def rdrop(net, x, y, opt, a=1.0):
    p, q = net(x), net(x)
    lp, lq = p.log_softmax(-1), q.log_softmax(-1)
    kl = F.kl_div(lp, lq, log_target=True, reduction="batchmean") + F.kl_div(lq, lp, log_target=True, reduction="batchmean")
    loss = F.cross_entropy(p, y) + a * kl
    opt.zero_grad()
    loss.backward()
    opt.step()


def siamese(net, a, b, same, opt):
    d = (net(a) - net(b)).pow(2).sum(-1)
    loss = (same * d + (1 - same) * (1 - d).clamp(min=0)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

import torch.nn.functional as F


def byol_step(online, predictor, momentum_net, opt, a, b):
    pa, pb = predictor(online(a)), predictor(online(b))
    ta = momentum_net(a)
    tb = momentum_net(b)
    sim = F.cosine_similarity(pa, tb).mean() + F.cosine_similarity(pb, ta).mean()
    opt.zero_grad()
    (2 - sim).backward()
    opt.step()
    for p, q in zip(online.parameters(), momentum_net.parameters()):
        q.data.mul_(0.99).add_(p.data, alpha=0.01)

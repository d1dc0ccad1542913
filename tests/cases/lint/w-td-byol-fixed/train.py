import torch.nn.functional as F


def byol_step(online, predictor, target, v1, v2, opt):
    p1, p2 = predictor(online(v1)), predictor(online(v2))
    t1, t2 = target(v1), target(v2)
    loss = 4 - 2 * F.cosine_similarity(p1, t2.detach()).mean() - 2 * F.cosine_similarity(p2, t1.detach()).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()


def momentum(online, target, m):
    for po, pt in zip(online.parameters(), target.parameters()):
        pt.data.mul_(m).add_(po.data, alpha=1 - m)

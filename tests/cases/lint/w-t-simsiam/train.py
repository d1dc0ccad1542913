import torch.nn.functional as F


def simsiam(enc, pred, x1, x2, opt):
    z1, z2 = enc(x1), enc(x2)
    loss = -0.5 * (F.cosine_similarity(pred(z1), z2.detach()).mean() + F.cosine_similarity(pred(z2), z1.detach()).mean())
    opt.zero_grad()
    loss.backward()
    opt.step()

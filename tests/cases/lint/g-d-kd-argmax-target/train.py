import torch.nn.functional as F


def pseudo(net, weak, strong, opt, thr):
    p = net(weak).softmax(1)
    conf, hard = p.max(1)
    keep = (conf > thr).float().detach()
    loss = (F.cross_entropy(net(strong), hard.detach(), reduction="none") * keep).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

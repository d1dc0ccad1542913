import torch


def residual(net, xy):
    xy.requires_grad_(True)
    u = net(xy)
    g = torch.autograd.grad(u.sum(), xy, create_graph=True)[0]
    uxx = torch.autograd.grad(g[:, 0].sum(), xy, create_graph=True)[0][:, 0]
    uyy = torch.autograd.grad(g[:, 1].sum(), xy, create_graph=True)[0][:, 1]
    return uxx + uyy


def fit(net, pts, bc, val, opt, n):
    for _ in range(n):
        opt.zero_grad()
        loss = residual(net, pts).pow(2).mean() + (net(bc) - val).pow(2).mean()
        loss.backward()
        opt.step()

import torch


def alternate(a, b, oa, ob, dl):
    for i, x in enumerate(dl):
        o = oa if i % 2 else ob
        o.zero_grad()
        (b(a(x)) - x).pow(2).mean().backward()
        o.step()


def lbfgs(net, x, y):
    opt = torch.optim.LBFGS(net.parameters())

    def closure():
        opt.zero_grad()
        l = (net(x) - y).pow(2).mean()
        l.backward()
        return l

    for _ in range(20):
        opt.step(closure)

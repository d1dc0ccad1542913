import torch


def style(img, vgg_loss, n):
    x = img.clone().requires_grad_(True)
    opt = torch.optim.LBFGS([x], max_iter=20)
    for _ in range(n):
        def closure():
            opt.zero_grad()
            l = vgg_loss(x)
            l.backward()
            return l

        opt.step(closure)
    return x.detach()

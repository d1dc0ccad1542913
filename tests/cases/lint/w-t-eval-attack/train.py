def pgd_accuracy(net, loader, crit, eps, alpha, n):
    net.eval()
    ok = 0
    for x, y in loader:
        adv = x.clone()
        for _ in range(n):
            adv = adv.detach().requires_grad_()
            crit(net(adv), y).backward()
            adv = (adv + alpha * adv.grad.sign()).clamp(x - eps, x + eps)
        ok += (net(adv.detach()).detach().argmax(1) == y).sum().item()
    return ok / len(loader.dataset)

from collections import defaultdict


def fit(net, loader, opt, crit, epochs):
    for ep in range(epochs):
        stats = defaultdict(float)
        for img, lab in loader:
            opt.zero_grad()
            l_cls = crit(net(img), lab)
            l_cls.backward()
            opt.step()
            stats["cls"] += l_cls
        print(ep, {k: v / len(loader) for k, v in stats.items()})

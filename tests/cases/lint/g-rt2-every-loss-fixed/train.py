def multi_task(net, loader, opt, heads):
    for x, ys in loader:
        opt.zero_grad()
        feats = net(x)
        total = sum(h(feats, y) for h, y in zip(heads, ys))
        total.backward()
        opt.step()

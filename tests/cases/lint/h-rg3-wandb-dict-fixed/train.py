def train(det, loader, opt, log):
    totals = {}
    for im, tg in loader:
        losses = det(im, tg)
        loss = sum(losses.values())
        opt.zero_grad()
        loss.backward()
        opt.step()
        for name, value in losses.items():
            totals[name] = totals.get(name, 0.0) + value.item()
    log({k: v / len(loader) for k, v in totals.items()})

def train(model, loader, opt, crit):
    correct = 0
    for x, y in loader:
        opt.zero_grad()
        target = y.cuda(non_blocking=True)
        out = model(x.cuda(non_blocking=True))
        loss = crit(out, target)
        loss.backward()
        opt.step()
        correct += (out.argmax(1) == target).sum()
    return int(correct)

def train(model, loader, opt, crit):
    correct = 0
    for x, y in loader:
        opt.zero_grad()
        out = model(x.cuda(non_blocking=True))
        loss = crit(out, y.cuda(non_blocking=True))
        loss.backward()
        opt.step()
        for i in range(len(y)):
            if out[i].argmax().item() == y[i].item():
                correct += 1
    return correct

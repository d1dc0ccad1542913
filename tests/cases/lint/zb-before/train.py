def train(model, loader, opt, crit):
    for x, y in loader:
        loss = crit(model(x), y)
        loss.backward()
        opt.zero_grad()
        opt.step()

def inner(model, pairs, opt, ce):
    for a, b in pairs:
        opt.zero_grad()
        loss = ce(model(a), b)
        loss.backward()
        opt.step()

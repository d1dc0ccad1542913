def train(model, it, opt, steps, k, loss_fn):
    for _ in range(steps):
        opt.zero_grad()
        for _ in range(k):
            x, y = next(it)
            loss = loss_fn(model(x), y)
            loss.backward()
        opt.step()

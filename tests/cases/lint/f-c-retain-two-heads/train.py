def step(trunk, head_a, head_b, opt, x, ya, yb, crit):
    h = trunk(x)
    opt.zero_grad()
    crit(head_a(h), ya).backward(retain_graph=True)
    crit(head_b(h), yb).backward()
    opt.step()


def train(trunk, a, b, opt, crit, dl):
    for x, ya, yb in dl:
        step(trunk, a, b, opt, x, ya, yb, crit)

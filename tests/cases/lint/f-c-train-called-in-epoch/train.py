def evaluate(net, dl, crit):
    was = net.training
    net.eval()
    import torch
    with torch.no_grad():
        s = sum(crit(net(x), y).item() for x, y in dl)
    net.train(was)
    return s


def fit(net, tr, va, opt, crit, n):
    for _ in range(n):
        for i, (x, y) in enumerate(tr):
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()
            if i % 500 == 0:
                print(evaluate(net, va, crit))

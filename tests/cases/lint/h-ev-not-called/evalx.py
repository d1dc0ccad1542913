import torch


def validate(net, dl, crit, device):
    net.eval()
    torch.no_grad()
    total, n = torch.zeros((), device=device), 0
    for x, y in dl:
        x, y = x.to(device), y.to(device)
        total += crit(net(x), y).detach() * x.size(0)
        n += x.size(0)
    net.train()
    return (total / n).item()


def fit(net, tr, va, opt, crit, epochs, device="cuda"):
    for _ in range(epochs):
        net.train()
        for x, y in tr:
            opt.zero_grad()
            crit(net(x.to(device)), y.to(device)).backward()
            opt.step()
        print(validate(net, va, crit, device))

import torch


def run(net, tr, va, crit, epochs):
    opt = torch.optim.Adam(net.parameters())
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", patience=3)
    for _ in range(epochs):
        net.train()
        for x, y in tr:
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            acc = sum((net(x).argmax(1) == y).float().mean().item() for x, y in va) / len(va)
        plateau.step(acc)

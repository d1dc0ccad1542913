import torch


def train(net, dl, epochs):
    opt = torch.optim.SGD(net.parameters(), 0.1)
    sch = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    for _ in range(epochs):
        for x, y in dl:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
            sch.step()

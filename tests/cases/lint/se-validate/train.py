import torch


@torch.no_grad()
def validate(net, dl):
    net.eval()
    return sum((net(x).argmax(1) == y).sum().item() for x, y in dl)


def train(net, train_dl, val_dl, opt, loss_fn, epochs):
    net.train()
    for e in range(epochs):
        for x, y in train_dl:
            opt.zero_grad()
            loss_fn(net(x), y).backward()
            opt.step()
        print(e, validate(net, val_dl))

import torch


def main(net, dl, epochs=30):
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    lr = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.4, epochs=epochs, steps_per_epoch=len(dl))
    for _ in range(epochs):
        for x, y in dl:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
            lr.step()

import torch
import torch.nn.functional as F

from ema import WeightAverager


@torch.no_grad()
def accuracy(net, loader, device):
    net.eval()
    right = seen = 0
    for x, y in loader:
        pred = net(x.to(device)).argmax(1).cpu()
        right += (pred == y).sum().item()
        seen += len(y)
    return right / seen


def run(net, train_dl, val_dl, device, epochs):
    averager = WeightAverager(net)
    opt = torch.optim.AdamW(net.parameters(), lr=3e-4, weight_decay=0.05)
    for epoch in range(epochs):
        net.train()
        for x, y in train_dl:
            opt.zero_grad(set_to_none=True)
            F.cross_entropy(net(x.to(device)), y.to(device)).backward()
            opt.step()
            averager.update(net)
        averager.swap_in(net)
        print(epoch, accuracy(net, val_dl, device))
        averager.swap_out(net)

import torch


@torch.no_grad()
def evaluate(net, dl):
    net.eval()
    r = [net(x).argmax(-1).eq(y).float().mean() for x, y in dl]
    net.train()
    return torch.stack(r).mean()


def train(net, tr, va, opt, crit):
    net.train()
    for i, (x, y) in enumerate(tr):
        opt.zero_grad()
        crit(net(x), y).backward()
        opt.step()
        if i % 500 == 0:
            print(evaluate(net, va))

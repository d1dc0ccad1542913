import torch


@torch.no_grad()
def validate(net, dl, crit):
    net.eval()
    losses = []
    for x, y in dl:
        losses.append(crit(net(x.cuda()), y.cuda()))
    net.train()
    return torch.stack(losses).mean().item()

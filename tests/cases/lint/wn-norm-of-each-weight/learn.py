import torch.nn.functional as F


def learn(net, adam, loader, board, device):
    net.to(device)
    count = 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        adam.zero_grad(set_to_none=True)
        F.cross_entropy(net(x), y).backward()
        for name, weight in net.named_parameters():
            board.add_scalar("grad/" + name, weight.grad.norm().item(), count)
        adam.step()
        count += 1

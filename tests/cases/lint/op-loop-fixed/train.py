import torch


def client_update(net, data, lr):
    opt = torch.optim.Adam(net.parameters(), lr=lr)
    for x, y in data:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    return net.state_dict()

import torch


def train(net, opt, dl, crit, path, dev):
    ck = torch.load(path, map_location="cpu", weights_only=False)
    net.load_state_dict(ck["net"])
    opt.load_state_dict(ck["opt"])
    start = ck["epoch"] + 1
    for e in range(start, 100):
        for x, y in dl:
            opt.zero_grad()
            crit(net(x.to(dev)), y.to(dev)).backward()
            opt.step()

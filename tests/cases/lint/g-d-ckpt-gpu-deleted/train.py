import torch


def restore(net, path):
    sd = torch.load(path, map_location="cuda", weights_only=True)
    net.load_state_dict(sd["ema"] if "ema" in sd else sd)
    return net


def train(net, path, dl, opt, crit):
    net = restore(net, path).cuda()
    for x, y in dl:
        opt.zero_grad()
        crit(net(x.cuda()), y.cuda()).backward()
        opt.step()

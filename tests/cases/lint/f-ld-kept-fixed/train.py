import torch


def train(net, opt, dl, crit, path):
    ckpt = torch.load(path, map_location="cpu")
    net.load_state_dict(ckpt["model"])
    opt.load_state_dict(ckpt["optim"])
    net.cuda()
    for x, y in dl:
        opt.zero_grad()
        crit(net(x.cuda()), y.cuda()).backward()
        opt.step()
    return ckpt["epoch"]

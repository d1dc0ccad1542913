import torch


def fit(net, dl, opt, class_freq):
    weight = 1.0 / torch.tensor(class_freq)
    for x, y in dl:
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y, weight=weight.cuda()).backward()
        opt.step()

import torch
import torch.nn.functional as F


class Predictor:
    def __init__(self, net):
        self.net = net

    @torch.inference_mode()
    def __call__(self, x):
        self.net.eval()
        return self.net(x).softmax(-1)


def accuracy(net, dl):
    pred = Predictor(net)
    good = torch.zeros(())
    for x, y in dl:
        good += (pred(x).argmax(-1) == y).float().mean()
    return good.item() / len(dl)


def saliency(net, dl):
    net.eval()
    maps = []
    for x, y in dl:
        x.requires_grad_(True)
        score = net(x).gather(1, y[:, None]).sum()
        (g,) = torch.autograd.grad(score, x)
        maps.append(g.abs().amax(1).cpu())
    return torch.cat(maps)


def adversarial_accuracy(net, dl, eps=8 / 255):
    net.eval()
    ok = 0
    for x, y in dl:
        x = x.clone().requires_grad_(True)
        F.cross_entropy(net(x), y).backward()
        adv = (x + eps * x.grad.sign()).clamp(0, 1).detach()
        with torch.no_grad():
            ok += (net(adv).argmax(1) == y).sum().item()
    return ok


def phase(net, dl, opt, train):
    net.train(train)
    with torch.set_grad_enabled(train):
        for x, y in dl:
            loss = F.cross_entropy(net(x), y)
            if train:
                opt.zero_grad()
                loss.backward()
                opt.step()

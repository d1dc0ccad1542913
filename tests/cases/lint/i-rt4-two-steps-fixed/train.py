import torch


class Style:
    def __init__(self, net, feats, opt):
        self.net, self.feats, self.opt = net, feats, opt

    def run(self, images, style, n):
        for _ in range(n):
            for im in images:
                self.opt.zero_grad()
                out = self.net(im)
                c = (self.feats(out) - self.feats(im).detach()).pow(2).mean()
                s = (self.feats(out).mean() - style).pow(2)
                (c + 10 * s).backward()
                self.opt.step()

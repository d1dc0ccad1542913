import torch
import torch.nn.functional as F


class Run:
    def __init__(self, net, opt, path):
        self.ckpt = torch.load(path, map_location="cuda")
        net.load_state_dict(self.ckpt["net"])
        opt.load_state_dict(self.ckpt["opt"])
        self.net, self.opt = net, opt

    def train(self, dl, epochs):
        for ep in range(self.ckpt["epoch"], epochs):
            self.net.train()
            for x, y in dl:
                self.opt.zero_grad()
                F.cross_entropy(self.net(x.cuda()), y.cuda()).backward()
                self.opt.step()

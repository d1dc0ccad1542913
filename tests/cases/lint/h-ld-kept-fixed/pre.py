import torch
import torch.nn.functional as F


class Run:
    def __init__(self, net, opt, path):
        ckpt = torch.load(path, map_location="cpu")
        net.load_state_dict(ckpt["net"])
        opt.load_state_dict(ckpt["opt"])
        self.net, self.opt, self.start = net, opt, ckpt["epoch"]

    def train(self, dl, epochs):
        for ep in range(self.start, epochs):
            self.net.train()
            for x, y in dl:
                self.opt.zero_grad()
                F.cross_entropy(self.net(x.cuda()), y.cuda()).backward()
                self.opt.step()

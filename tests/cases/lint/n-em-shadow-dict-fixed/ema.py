import torch


class WeightAverager:
    def __init__(self, net, decay=0.9995):
        self.decay = decay
        self.shadow = {n: p.detach().clone() for n, p in net.named_parameters()}
        self.saved = {}

    @torch.no_grad()
    def update(self, net):
        for name, p in net.named_parameters():
            self.shadow[name] = self.decay * self.shadow[name] + (1 - self.decay) * p

    @torch.no_grad()
    def swap_in(self, net):
        for name, p in net.named_parameters():
            self.saved[name] = p.clone()
            p.copy_(self.shadow[name])

    @torch.no_grad()
    def swap_out(self, net):
        for name, p in net.named_parameters():
            p.copy_(self.saved[name])
        self.saved.clear()

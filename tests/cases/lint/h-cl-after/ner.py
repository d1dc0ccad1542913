import torch
from torch.nn.utils import clip_grad_value_


class Tagger:
    def __init__(self, net, crf, lr):
        self.net, self.crf = net, crf
        self.params = [*net.parameters(), *crf.parameters()]
        self.opt = torch.optim.Adam(self.params, lr=lr)

    def update(self, words, tags, mask):
        emis = self.net(words)
        nll = -self.crf(emis, tags, mask=mask, reduction="mean")
        self.opt.zero_grad()
        nll.backward()
        self.opt.step()
        clip_grad_value_(self.params, 5.0)
        return nll.detach()

    def epoch(self, dl):
        self.net.train()
        seen = [self.update(*(t.cuda(non_blocking=True) for t in b)) for b in dl]
        return torch.stack(seen).mean().item()

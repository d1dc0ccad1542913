import torch
from torch import nn


class CTCTrainer:
    def __init__(self, net, opt, blank=0):
        self.net, self.opt = net, opt
        self.crit = nn.CTCLoss(blank=blank, zero_infinity=True)

    def train_batch(self, feats, flen, toks, tlen):
        logp = self.net(feats).log_softmax(-1).transpose(0, 1)
        loss = self.crit(logp, toks, flen, tlen)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
        self.opt.step
        return loss.detach()

    def epoch(self, dl, log):
        self.net.train()
        for i, (f, fl, t, tl) in enumerate(dl):
            loss = self.train_batch(f.cuda(non_blocking=True), fl, t.cuda(non_blocking=True), tl)
            if i % 200 == 0:
                log(i, float(loss))

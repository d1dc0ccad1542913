import torch
import torch.nn.functional as F


class Pix:
    def __init__(self, G, D, og, od):
        self.G, self.D, self.og, self.od = G, D, og, od

    def g_step(self, a, b):
        fake = self.G(a)
        score = self.D(torch.cat([a, fake.detach()], 1))
        adv = F.binary_cross_entropy_with_logits(score, torch.ones_like(score))
        loss = adv + 100 * (fake - b).abs().mean()
        self.og.zero_grad()
        loss.backward()
        self.og.step()

import torch


class Speaker:
    def __init__(self, gru, vocab_head, opt):
        self.gru, self.head, self.opt = gru, vocab_head, opt
        self.h = torch.zeros(1, 16, 256)

    def learn(self, chunks):
        for x, y in chunks:
            out, self.h = self.gru(x, self.h.detach())
            loss = torch.nn.functional.cross_entropy(self.head(out).flatten(0, 1), y.flatten())
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

import torch


class SpeechTrainer:
    def __init__(self, net, opt, max_norm):
        self.net, self.opt, self.max_norm = net, opt, max_norm

    def update(self, loss):
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.max_norm)

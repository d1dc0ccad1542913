import torch.nn as nn

from amp import mixed


class Fit:
    def __init__(self, body, adam, half=True):
        self.body, self.adam, self.half = body, adam, half
        self.criterion = nn.SmoothL1Loss()

    def one(self, x, y):
        guess = self.body(x)
        with mixed(self.half):
            loss = self.criterion(guess, y)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()

    def all(self, loader):
        for x, y in loader:
            self.one(x.cuda(), y.cuda())

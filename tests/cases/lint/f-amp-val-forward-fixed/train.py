import torch
from torch.cuda import amp


class Fitter:
    def __init__(self, model, opt, loss):
        self.model, self.opt, self.loss = model, opt, loss
        self.scaler = amp.GradScaler()

    def train_one(self, x, y):
        self.opt.zero_grad()
        with amp.autocast():
            pred = self.model(x)
            loss = self.loss(pred, y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt)
        self.scaler.update()

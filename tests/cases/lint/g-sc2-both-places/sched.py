import torch


def build(opt, epochs):
    return torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[int(epochs * 0.5), int(epochs * 0.75)], gamma=0.1)

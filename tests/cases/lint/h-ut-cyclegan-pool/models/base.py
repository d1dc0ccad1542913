import torch


class BaseModel:
    def __init__(self, opt):
        self.opt = opt
        self.device = torch.device("cuda")
        self.optimizers = []

    def set_requires_grad(self, nets, flag):
        for net in nets if isinstance(nets, list) else [nets]:
            for p in net.parameters():
                p.requires_grad = flag

    def update_learning_rate(self, schedulers):
        for s in schedulers:
            s.step()

import torch
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self, model, opt, local_rank):
        self.model = model.to(local_rank)
        self.ddp = DistributedDataParallel(self.model, device_ids=[local_rank])
        self.opt, self.dev = opt, local_rank

    def loss(self, x, y):
        return F.cross_entropy(self.ddp(x), y)

    def epoch(self, dl):
        self.ddp.train()
        for x, y in dl:
            loss = self.loss(x.to(self.dev), y.to(self.dev))
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

import torch
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


class Accum:
    def __init__(self, net, gpu, k=16):
        self.net = DDP(net.to(gpu), device_ids=[gpu])
        self.opt = torch.optim.AdamW(self.net.parameters(), 3e-4)
        self.k, self.gpu = k, gpu

    def micro(self, x, y):
        loss = F.cross_entropy(self.net(x.to(self.gpu)), y.to(self.gpu)) / self.k
        loss.backward()

    def epoch(self, dl):
        self.net.train()
        for i, (x, y) in enumerate(dl):
            self.micro(x, y)
            if (i + 1) % self.k == 0:
                self.opt.step()
                self.opt.zero_grad()

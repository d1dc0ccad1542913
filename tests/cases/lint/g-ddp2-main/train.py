import os

import torch
from torch.distributed import init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, model, dataset, bs):
        init_process_group("nccl")
        self.gpu = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(self.gpu)
        self.model = DDP(model.to(self.gpu), device_ids=[self.gpu])
        self.data = DataLoader(dataset, batch_size=bs, shuffle=True, pin_memory=True, num_workers=4)
        self.opt = torch.optim.SGD(model.parameters(), lr=1e-3)

    def train(self, n):
        for _ in range(n):
            for x, y in self.data:
                self.opt.zero_grad()
                torch.nn.functional.cross_entropy(self.model(x.to(self.gpu)), y.to(self.gpu)).backward()
                self.opt.step()

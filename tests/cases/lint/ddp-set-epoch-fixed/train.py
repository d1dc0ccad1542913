from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Runner:
    def __init__(self, cfg, ddp_model, dataset):
        self.cfg = cfg
        self.model = ddp_model
        self.sampler = DistributedSampler(dataset, shuffle=True)
        self.loader = DataLoader(dataset, cfg.batch, sampler=self.sampler)

    def train(self, opt, crit):
        for epoch in range(self.cfg.epochs):
            self.loader.sampler.set_epoch(epoch)
            for x, y in self.loader:
                opt.zero_grad()
                crit(self.model(x), y).backward()
                opt.step()

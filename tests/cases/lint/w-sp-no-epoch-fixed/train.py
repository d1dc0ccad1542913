from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Loop:
    def __init__(self, ds, ddp, opt, crit):
        self.sampler = DistributedSampler(ds, shuffle=True)
        self.loader = DataLoader(ds, 32, sampler=self.sampler, num_workers=4, pin_memory=True)
        self.ddp, self.opt, self.crit = ddp, opt, crit

    def run(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for x, y in self.loader:
                self.opt.zero_grad()
                self.crit(self.ddp(x), y).backward()
                self.opt.step()

from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Run:
    def __init__(self, net, ds, opt, gpu):
        self.net = DistributedDataParallel(net.to(gpu), device_ids=[gpu])
        self.opt, self.gpu = opt, gpu
        self.dl = DataLoader(ds, 8, sampler=DistributedSampler(ds), num_workers=2)

    def fit(self, n):
        for ep in range(n):
            for x, y in self.dl:
                self.opt.zero_grad()
                (self.net(x.to(self.gpu)) - y.to(self.gpu)).abs().mean().backward()
                self.opt.step()

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Loop:
    def __init__(self, net, ds, rank, world):
        self.rank, self.world = rank, world
        self.net = DDP(net.to(rank), device_ids=[rank])
        self.smp = DistributedSampler(ds, num_replicas=world, rank=rank, seed=1000 * rank + 3)
        self.dl = DataLoader(ds, batch_size=64, sampler=self.smp, num_workers=2)
        self.opt = torch.optim.AdamW(self.net.parameters(), 1e-3)

    def go(self, n):
        for ep in range(n):
            self.smp.set_epoch(ep)
            self.net.train()
            for b in self.dl:
                loss = self.net(b.to(self.rank)).square().mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
        dist.barrier()

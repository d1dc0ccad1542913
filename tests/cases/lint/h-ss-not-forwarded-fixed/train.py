import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from samplers import Grouped


def fit(net, ds, opt, gpu, epochs):
    net = DDP(net, device_ids=[gpu])
    smp = Grouped(ds, ds.bucket, 8)
    dl = DataLoader(ds, batch_sampler=smp, num_workers=4)
    for ep in range(epochs):
        smp.set_epoch(ep)
        net.train()
        for x, y in dl:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.cuda(gpu)), y.cuda(gpu)).backward()
            opt.step()

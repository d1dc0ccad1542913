import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def train(net, dl, opt, crit, k, rank):
    ddp = DDP(net.to(rank), device_ids=[rank])
    for i, (x, y) in enumerate(dl):
        out = ddp(x.to(rank))
        loss = crit(out, y.to(rank)) / k
        if (i + 1) % k:
            with ddp.no_sync():
                loss.backward()
        else:
            loss.backward()
            opt.step()
            opt.zero_grad()

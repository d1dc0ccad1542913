from torch.nn.parallel import DistributedDataParallel as DDP


def train(net, rank, loader, opt, crit):
    ddp = DDP(net.to(rank), device_ids=[rank])
    for x, y in loader:
        opt.zero_grad()
        out = ddp.module(x.to(rank))
        crit(out, y.to(rank)).backward()
        opt.step()

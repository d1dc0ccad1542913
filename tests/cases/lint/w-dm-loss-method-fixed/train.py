from torch.nn.parallel import DistributedDataParallel as DDP


def train(flow, loader, make_opt, rank):
    ddp = DDP(flow.to(rank), device_ids=[rank])
    opt = make_opt(ddp.parameters())
    for x in loader:
        opt.zero_grad()
        nll = -ddp(x.to(rank)).mean()
        nll.backward()
        opt.step()

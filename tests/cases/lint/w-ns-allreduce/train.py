from torch.nn.parallel import DistributedDataParallel as DDP


def train(lm, loader, make_opt, rank, accum=8):
    lm = DDP(lm.to(rank), device_ids=[rank])
    opt = make_opt(lm.parameters())
    for i, ids in enumerate(loader):
        loss = lm(ids.to(rank)).loss / accum
        loss.backward()
        if (i + 1) % accum == 0:
            opt.step()
            opt.zero_grad()

from torch.nn.parallel import DistributedDataParallel as DDP


def train(net, dl, opt, crit, gpu):
    net = DDP(net, device_ids=[gpu])
    net.train()
    for x, y in dl:
        opt.zero_grad()
        crit(net.module(x), y).backward()
        opt.step()

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def train(net, dl, rank, crit):
    model = DDP(net.to(rank), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in dl:
        opt.zero_grad()
        feats = model.module.encode(x.to(rank))
        crit(model.module.classify(feats), y.to(rank)).backward()
        opt.step()

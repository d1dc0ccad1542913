import torch
from torch.utils.data import DataLoader


def make(ds):
    return DataLoader(ds, batch_size=256, shuffle=True, num_workers=8, pin_memory=True, persistent_workers=True)


def train(net, ds, opt, crit):
    torch.manual_seed(0)
    dl = make(ds)
    net.cuda().train()
    for x, y in dl:
        x = x.cuda()
        y = y.cuda()
        loss = crit(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()

import torch
from torch.cuda.amp import GradScaler, autocast


def optimise(net, opt, crit, x, y):
    scaler = GradScaler()
    with autocast():
        loss = crit(net(x), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()


def train_one_epoch(net, dl, opt, crit):
    net.train()
    for x, y in dl:
        optimise(net, opt, crit, x, y)

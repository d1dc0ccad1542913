import torch
from torch.amp import GradScaler, autocast


def train_epoch(net, dl, opt, scaler, loss_fn):
    net.train()
    for x, y in dl:
        opt.zero_grad()
        with autocast("cuda", dtype=torch.float16):
            loss = loss_fn(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


def fit(net, dl, opt, loss_fn, epochs):
    scaler = GradScaler("cuda")
    for ep in range(epochs):
        train_epoch(net, dl, opt, scaler, loss_fn)
        torch.save(net.state_dict(), f"{ep}.pt")

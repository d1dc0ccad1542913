import argparse
import math
import os
import random
import shutil
import time

import numpy as np
import torch
import torch.backends.cudnn as cudnn
import torch.distributed as dist
import torch.nn as nn
import torchvision.datasets as datasets
import torchvision.models as models
import torchvision.transforms as T
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def options():
    p = argparse.ArgumentParser("classifier")
    p.add_argument("data", metavar="DIR")
    p.add_argument("-a", "--arch", default="resnet50")
    p.add_argument("-j", "--workers", type=int, default=8)
    p.add_argument("--epochs", type=int, default=90)
    p.add_argument("-b", "--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--warmup", type=int, default=5)
    p.add_argument("--wd", type=float, default=1e-4)
    p.add_argument("--momentum", type=float, default=0.9)
    p.add_argument("--amp", action="store_true")
    p.add_argument("--accum", type=int, default=1)
    p.add_argument("--clip", type=float, default=None)
    p.add_argument("--resume", default="")
    p.add_argument("--evaluate", action="store_true")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--print-freq", type=int, default=50)
    p.add_argument("--output", default="runs/a")
    p.add_argument("--label-smoothing", type=float, default=0.1)
    p.add_argument("--mixup", type=float, default=0.0)
    return p.parse_args()


def distributed_init():
    if "RANK" not in os.environ:
        return 0, 1, 0
    rank, world, local = (int(os.environ[k]) for k in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", init_method="env://")
    return rank, world, local


def set_seed(seed, rank):
    random.seed(seed + rank)
    np.random.seed(seed + rank)
    torch.manual_seed(seed + rank)


class Mean:
    def __init__(self, name, fmt=":.3f"):
        self.name, self.fmt = name, fmt
        self.reset()

    def reset(self):
        self.last = self.total = self.count = 0

    def update(self, v, n=1):
        self.last = v
        self.total += v * n
        self.count += n

    @property
    def avg(self):
        return self.total / max(1, self.count)

    def reduce(self, device):
        if not dist.is_available() or not dist.is_initialized():
            return
        t = torch.tensor([self.total, self.count], dtype=torch.float64, device=device)
        dist.all_reduce(t)
        self.total, self.count = t.tolist()

    def __str__(self):
        return ("{} {" + self.fmt + "} ({" + self.fmt + "})").format(self.name, self.last, self.avg)


def topk(logits, target, ks=(1, 5)):
    with torch.no_grad():
        _, pred = logits.topk(max(ks), 1)
        hit = pred.t().eq(target.view(1, -1))
        return [hit[:k].reshape(-1).float().sum() * (100.0 / target.size(0)) for k in ks]


def mix(x, y, alpha):
    lam = np.random.beta(alpha, alpha)
    perm = torch.randperm(x.size(0), device=x.device)
    return lam * x + (1 - lam) * x[perm], y, y[perm], lam


def loaders(opt, world, rank):
    norm = T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    train = datasets.ImageFolder(
        os.path.join(opt.data, "train"),
        T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), norm]),
    )
    val = datasets.ImageFolder(os.path.join(opt.data, "val"), T.Compose([T.Resize(256), T.CenterCrop(224), T.ToTensor(), norm]))
    if world > 1:
        ts = DistributedSampler(train, num_replicas=world, rank=rank, shuffle=True)
        vs = DistributedSampler(val, num_replicas=world, rank=rank, shuffle=False)
    else:
        ts = vs = None
    common = dict(batch_size=opt.batch_size, num_workers=opt.workers, pin_memory=True)
    tl = DataLoader(train, shuffle=ts is None, sampler=ts, drop_last=True, persistent_workers=opt.workers > 0, **common)
    vl = DataLoader(val, shuffle=False, sampler=vs, **common)
    return tl, vl, ts


def param_groups(net, wd):
    decay, rest = [], []
    for n, p in net.named_parameters():
        if not p.requires_grad:
            continue
        (rest if p.ndim <= 1 or n.endswith(".bias") else decay).append(p)
    return [{"params": decay, "weight_decay": wd}, {"params": rest, "weight_decay": 0.0}]


def adjust(optimizer, opt, epoch, it, per_epoch):
    e = epoch + it / per_epoch
    if e < opt.warmup:
        lr = opt.lr * e / max(1e-9, opt.warmup)
    else:
        lr = 0.5 * opt.lr * (1 + math.cos(math.pi * (e - opt.warmup) / (opt.epochs - opt.warmup)))
    for g in optimizer.param_groups:
        g["lr"] = lr
    return lr


def train_epoch(net, loader, crit, optimizer, scaler, opt, epoch, device, board):
    clock, data_t, losses, acc = Mean("time"), Mean("data"), Mean("loss", ":.4e"), Mean("acc@1", ":6.2f")
    net.train()
    end = time.time()
    optimizer.zero_grad(set_to_none=True)
    for it, (x, y) in enumerate(loader):
        data_t.update(time.time() - end)
        lr = adjust(optimizer, opt, epoch, it, len(loader))
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        ya, yb, lam = y, y, 1.0
        if opt.mixup > 0:
            x, ya, yb, lam = mix(x, y, opt.mixup)
        last = (it + 1) % opt.accum == 0 or it + 1 == len(loader)
        with torch.autocast("cuda", dtype=torch.float16, enabled=opt.amp):
            out = net(x)
            loss = lam * crit(out, ya) + (1 - lam) * crit(out, yb)
        scaler.scale(loss / opt.accum).backward()
        if last:
            if opt.clip is not None:
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(net.parameters(), opt.clip)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
        if it % opt.print_freq == 0:
            losses.update(loss.item(), x.size(0))
            acc.update(topk(out, y)[0].item(), x.size(0))
            if not math.isfinite(losses.last):
                raise FloatingPointError(f"loss is {losses.last} at {epoch}/{it}")
            if board is not None:
                board.add_scalar("train/loss", losses.last, epoch * len(loader) + it)
                board.add_scalar("train/lr", lr, epoch * len(loader) + it)
                print(f"[{epoch}][{it}/{len(loader)}]", clock, data_t, losses, acc, sep="  ")
        clock.update(time.time() - end)
        end = time.time()


@torch.no_grad()
def validate(net, loader, crit, device, amp):
    losses, a1, a5 = Mean("loss"), Mean("acc@1"), Mean("acc@5")
    net.eval()
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        with torch.autocast("cuda", dtype=torch.float16, enabled=amp):
            out = net(x)
            loss = crit(out, y)
        p1, p5 = topk(out, y)
        losses.update(loss.item(), x.size(0))
        a1.update(p1.item(), x.size(0))
        a5.update(p5.item(), x.size(0))
    for m in (losses, a1, a5):
        m.reduce(device)
    return losses.avg, a1.avg, a5.avg


def save(state, is_best, folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "checkpoint.pth")
    torch.save(state, path)
    if is_best:
        shutil.copyfile(path, os.path.join(folder, "best.pth"))


def main():
    opt = options()
    rank, world, local = distributed_init()
    set_seed(opt.seed, rank)
    cudnn.benchmark = True
    device = torch.device("cuda", local)
    net = models.__dict__[opt.arch](weights=None).to(device)
    crit_train = nn.CrossEntropyLoss(label_smoothing=opt.label_smoothing)
    crit_val = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(param_groups(net, opt.wd), opt.lr, momentum=opt.momentum, nesterov=True)
    scaler = torch.amp.GradScaler("cuda", enabled=opt.amp)
    start, best = 0, 0.0
    if opt.resume:
        ck = torch.load(opt.resume, map_location=device, weights_only=False)
        net.load_state_dict(ck["net"])
        optimizer.load_state_dict(ck["optimizer"])
        scaler.load_state_dict(ck["scaler"])
        start, best = ck["epoch"], ck["best"]
        del ck
    ddp = net
    if world > 1:
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
        ddp = DistributedDataParallel(net, device_ids=[local])
    tl, vl, sampler = loaders(opt, world, rank)
    if opt.evaluate:
        print(validate(ddp, vl, crit_val, device, opt.amp))
        return
    board = SummaryWriter(opt.output) if rank == 0 else None
    for epoch in range(start, opt.epochs):
        if sampler is not None:
            sampler.set_epoch(epoch)
        train_epoch(ddp, tl, crit_train, optimizer, scaler, opt, epoch, device, board)
        loss, a1, a5 = validate(ddp, vl, crit_val, device, opt.amp)
        if rank == 0:
            board.add_scalar("val/acc1", a1, epoch)
            print(f"epoch {epoch}: {loss:.3f} {a1:.2f} {a5:.2f}")
            save(
                {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict(), "epoch": epoch + 1, "best": max(best, a1)},
                a1 > best,
                opt.output,
            )
        best = max(best, a1)
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

import argparse
import csv
import os
import random
from pathlib import Path

import albumentations as A
import cv2
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from albumentations.pytorch import ToTensorV2
from torch.utils.data import DataLoader, Dataset, random_split
from tqdm import tqdm


def seed_all(s):
    random.seed(s)
    np.random.seed(s)
    torch.manual_seed(s)
    torch.cuda.manual_seed_all(s)


class Cells(Dataset):
    def __init__(self, root, tfm=None):
        self.files = sorted(Path(root, "img").glob("*.png"))
        self.root, self.tfm = root, tfm

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        f = self.files[i]
        im = cv2.cvtColor(cv2.imread(str(f)), cv2.COLOR_BGR2RGB)
        m = cv2.imread(str(Path(self.root, "mask", f.name)), 0)
        if self.tfm is not None:
            o = self.tfm(image=im, mask=m)
            im, m = o["image"], o["mask"]
        return im, (m > 0).float().unsqueeze(0)


class View(Dataset):
    def __init__(self, base, tfm):
        self.base, self.tfm = base, tfm

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        im, m = self.base[i]
        o = self.tfm(image=im, mask=m)
        return o["image"], o["mask"]


class Double(nn.Module):
    def __init__(self, i, o, mid=None):
        super().__init__()
        mid = mid or o
        self.net = nn.Sequential(
            nn.Conv2d(i, mid, 3, padding=1, bias=False),
            nn.BatchNorm2d(mid),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid, o, 3, padding=1, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.net(x)


class Up(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.conv = Double(i, o, i // 2)

    def forward(self, x, skip):
        x = self.up(x)
        dy, dx = skip.size(2) - x.size(2), skip.size(3) - x.size(3)
        x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([skip, x], dim=1))


class UNet(nn.Module):
    def __init__(self, classes=1, w=32):
        super().__init__()
        self.stem = Double(3, w)
        self.downs = nn.ModuleList([nn.Sequential(nn.MaxPool2d(2), Double(w * 2**i, w * 2 ** min(i + 1, 3))) for i in range(4)])
        self.ups = nn.ModuleList([Up(w * 16, w * 4), Up(w * 8, w * 2), Up(w * 4, w), Up(w * 2, w)])
        self.head = nn.Conv2d(w, classes, 1)

    def forward(self, x):
        skips = [self.stem(x)]
        for d in self.downs:
            skips.append(d(skips[-1]))
        x = skips.pop()
        for u in self.ups:
            x = u(x, skips.pop())
        return self.head(x)


def dice(p, t, eps=1e-6):
    inter = (p * t).sum((1, 2, 3))
    return ((2 * inter + eps) / (p.sum((1, 2, 3)) + t.sum((1, 2, 3)) + eps)).mean()


class BCEDice(nn.Module):
    def __init__(self, w=0.5):
        super().__init__()
        self.bce, self.w = nn.BCEWithLogitsLoss(), w

    def forward(self, z, t):
        return self.w * self.bce(z, t) + (1 - self.w) * (1 - dice(torch.sigmoid(z), t))


class EarlyStop:
    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, -1.0, 0

    def __call__(self, v):
        if v > self.best:
            self.best, self.bad = v, 0
            return True, False
        self.bad += 1
        return False, self.bad >= self.patience


def run_train(net, dl, crit, opt, scaler, sched, dev, clip):
    net.train()
    total = torch.zeros((), device=dev)
    for im, m in tqdm(dl, leave=False):
        im, m = im.to(dev, non_blocking=True), m.to(dev, non_blocking=True)
        opt.zero_grad(set_to_none=True)
        with torch.autocast(dev.type, enabled=scaler.is_enabled()):
            loss = crit(net(im), m)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), clip)
        scaler.step(opt)
        scaler.update()
        sched.step()
        total += loss.detach()
    return (total / len(dl)).item()


@torch.inference_mode()
def run_val(net, dl, crit, dev):
    net.eval()
    loss = score = 0.0
    for im, m in dl:
        im, m = im.to(dev), m.to(dev)
        z = net(im)
        loss += crit(z, m).item()
        score += dice((z.sigmoid() > 0.5).float(), m).item()
    return loss / len(dl), score / len(dl)


def predict(net, folder, out, dev):
    net.eval()
    tfm = A.Compose([A.Normalize(), ToTensorV2()])
    os.makedirs(out, exist_ok=True)
    for f in sorted(Path(folder).glob("*.png")):
        im = cv2.cvtColor(cv2.imread(str(f)), cv2.COLOR_BGR2RGB)
        with torch.no_grad():
            p = net(tfm(image=im)["image"].unsqueeze(0).to(dev)).sigmoid()
        cv2.imwrite(os.path.join(out, f.name), (p[0, 0].cpu().numpy() * 255).astype(np.uint8))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("root")
    ap.add_argument("--epochs", type=int, default=50)
    ap.add_argument("--bs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--seed", type=int, default=42)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--predict")
    a = ap.parse_args()
    seed_all(a.seed)
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    aug = A.Compose([A.RandomCrop(256, 256), A.HorizontalFlip(), A.RandomRotate90(), A.Normalize(), ToTensorV2()])
    plain = A.Compose([A.CenterCrop(256, 256), A.Normalize(), ToTensorV2()])
    base = Cells(a.root)
    n = int(0.8 * len(base))
    tr, va = random_split(base, [n, len(base) - n], generator=torch.Generator().manual_seed(a.seed))
    tdl = DataLoader(View(tr, aug), a.bs, shuffle=True, num_workers=4, pin_memory=True, drop_last=True)
    vdl = DataLoader(View(va, plain), a.bs, num_workers=4, pin_memory=True)
    net = UNet().to(dev)
    crit = BCEDice()
    opt = torch.optim.AdamW(net.parameters(), a.lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, a.lr, total_steps=a.epochs * len(tdl))
    scaler = torch.amp.GradScaler(dev.type, enabled=dev.type == "cuda")
    stop = EarlyStop(10)
    with open("log.csv", "w", newline="") as fh:
        log = csv.writer(fh)
        log.writerow(["epoch", "train", "val", "dice"])
        for e in range(a.epochs):
            t = run_train(net, tdl, crit, opt, scaler, sched, dev, a.clip)
            v, d = run_val(net, vdl, crit, dev)
            log.writerow([e, t, v, d])
            better, done = stop(d)
            if better:
                torch.save(net.state_dict(), "best.pt")
            if done:
                break
    if a.predict:
        net.load_state_dict(torch.load("best.pt", map_location=dev, weights_only=True))
        predict(net, a.predict, "pred", dev)


if __name__ == "__main__":
    main()

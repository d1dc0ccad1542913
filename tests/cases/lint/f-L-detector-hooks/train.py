import collections
import logging
import time
import weakref

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("engine")


class Hook:
    def before_train(self): ...

    def after_train(self): ...

    def before_step(self): ...

    def after_step(self): ...

    def after_epoch(self): ...


class LRHook(Hook):
    def __init__(self, sched):
        self.sched = sched

    def after_step(self):
        self.trainer.storage["lr"].append(self.trainer.opt.param_groups[0]["lr"])
        self.sched.step()


class CheckpointHook(Hook):
    def __init__(self, period, prefix):
        self.period, self.prefix = period, prefix

    def after_step(self):
        t = self.trainer
        if (t.iter + 1) % self.period == 0:
            torch.save({"net": t.net.state_dict(), "opt": t.opt.state_dict(), "iter": t.iter}, f"{self.prefix}_{t.iter + 1:07d}.pth")


class EvalHook(Hook):
    def __init__(self, period, fn):
        self.period, self.fn = period, fn

    def after_epoch(self):
        if self.trainer.epoch % self.period == 0:
            res = self.fn(self.trainer.net)
            log.info("epoch %d %s", self.trainer.epoch, res)

    def after_train(self):
        log.info("final %s", self.fn(self.trainer.net))


class PrinterHook(Hook):
    def __init__(self, every=20):
        self.every = every

    def before_train(self):
        self.t0 = time.perf_counter()

    def after_step(self):
        t = self.trainer
        if t.iter % self.every == 0:
            vals = {k: v[-1] for k, v in t.storage.items() if v}
            log.info("it %d %.1fs %s", t.iter, time.perf_counter() - self.t0, vals)


class Trainer:
    def __init__(self, net, opt, loader, device, grad_clip=None, log_every=20):
        self.net, self.opt, self.loader, self.device = net, opt, loader, device
        self.grad_clip, self.log_every = grad_clip, log_every
        self.hooks = []
        self.storage = collections.defaultdict(lambda: collections.deque(maxlen=1000))
        self.iter = self.epoch = 0

    def register(self, hooks):
        for h in hooks:
            h.trainer = weakref.proxy(self)
            self.hooks.append(h)

    def _call(self, name):
        for h in self.hooks:
            getattr(h, name)()

    def move(self, targets):
        return [{k: v.to(self.device, non_blocking=True) for k, v in t.items()} for t in targets]

    def run_step(self, images, targets):
        images = images.to(self.device, non_blocking=True)
        parts = self.net(images, self.move(targets))
        total = sum(parts.values())
        self.opt.zero_grad()
        total.backward()
        if self.grad_clip is not None:
            nn.utils.clip_grad_norm_(self.net.parameters(), self.grad_clip)
        self.opt.step()
        if self.iter % self.log_every == 0:
            for k, v in parts.items():
                self.storage[k].append(v.detach().item())

    def train(self, epochs):
        self._call("before_train")
        try:
            for self.epoch in range(1, epochs + 1):
                self.net.train()
                for images, targets in self.loader:
                    self._call("before_step")
                    self.run_step(images, targets)
                    self._call("after_step")
                    self.iter += 1
                self._call("after_epoch")
        finally:
            self._call("after_train")


class Boxes(Dataset):
    def __init__(self, records, read):
        self.records, self.read = records, read

    def __len__(self):
        return len(self.records)

    def __getitem__(self, i):
        r = self.records[i]
        return self.read(r["file"]), {"boxes": torch.as_tensor(r["boxes"]), "labels": torch.as_tensor(r["labels"])}


def collate(batch):
    ims, ts = zip(*batch)
    return torch.stack(ims), list(ts)


class Head(nn.Module):
    def __init__(self, c, k):
        super().__init__()
        self.cls = nn.Conv2d(c, k, 3, padding=1)
        self.reg = nn.Conv2d(c, 4, 3, padding=1)
        self.ctr = nn.Conv2d(c, 1, 3, padding=1)
        nn.init.constant_(self.cls.bias, -4.6)

    def forward(self, f):
        return self.cls(f), self.reg(f).exp(), self.ctr(f)


class Detector(nn.Module):
    def __init__(self, backbone, c, k, assign):
        super().__init__()
        self.backbone, self.head, self.assign = backbone, Head(c, k), assign

    def forward(self, images, targets=None):
        cls, reg, ctr = self.head(self.backbone(images))
        if targets is None:
            return self.decode(cls, reg, ctr)
        tc, tr, tk, pos = self.assign(targets, cls.shape)
        n = pos.sum().clamp(min=1)
        p = cls.sigmoid()
        ce = nn.functional.binary_cross_entropy_with_logits(cls, tc, reduction="none")
        pt = p * tc + (1 - p) * (1 - tc)
        focal = (0.25 * (1 - pt) ** 2 * ce).sum() / n
        box = (nn.functional.smooth_l1_loss(reg, tr, reduction="none") * pos).sum() / n
        cen = (nn.functional.binary_cross_entropy_with_logits(ctr, tk, reduction="none") * pos).sum() / n
        return {"cls": focal, "box": box, "ctr": cen}

    def decode(self, cls, reg, ctr):
        score = (cls.sigmoid() * ctr.sigmoid()).flatten(2)
        top, idx = score.topk(100, dim=-1)
        return top, idx, reg.flatten(2)


def evaluator(loader, metric, device):
    @torch.no_grad()
    def run(net):
        was = net.training
        net.eval()
        metric.reset()
        for images, targets in loader:
            out = net(images.to(device))
            metric.update([o.cpu() for o in out], targets)
        net.train(was)
        return metric.compute()

    return run


def main(records, val_records, read, backbone, assign, metric, epochs=12):
    torch.manual_seed(0)
    device = torch.device("cuda")
    net = Detector(backbone, 256, 80, assign).to(device)
    opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.01, momentum=0.9, weight_decay=1e-4)
    loader = DataLoader(Boxes(records, read), 16, shuffle=True, num_workers=8, collate_fn=collate, pin_memory=True)
    val = DataLoader(Boxes(val_records, read), 16, num_workers=8, collate_fn=collate)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [8 * len(loader), 11 * len(loader)])
    tr = Trainer(net, opt, loader, device, grad_clip=35.0)
    tr.register([LRHook(sched), PrinterHook(), CheckpointHook(5000, "det"), EvalHook(1, evaluator(val, metric, device))])
    tr.train(epochs)

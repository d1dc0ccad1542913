import torch
import torch.nn.functional as F


def build(cfg, net):
    opt = torch.optim.SGD(net.parameters(), lr=cfg["lr"], momentum=0.9, nesterov=True)
    scaler = torch.amp.GradScaler("cuda", enabled=cfg.get("amp", True))
    return opt, scaler


class Classifier:
    def __init__(self, net, cfg):
        self.net = net.cuda()
        self.cfg = cfg
        self.opt, self.scaler = build(cfg, net)

    def step(self, x, y):
        with torch.autocast("cuda", dtype=torch.float16, enabled=self.cfg.get("amp", True)):
            loss = F.cross_entropy(self.net(x), y)
        self.opt.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt)
        self.scaler.update()

    def fit(self, dl):
        self.net.train()
        for x, y in dl:
            self.step(x.cuda(non_blocking=True), y.cuda(non_blocking=True))

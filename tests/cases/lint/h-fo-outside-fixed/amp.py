import torch
import torch.nn.functional as F


class Trainer:
    def __init__(self, net, opt, amp_dtype="float16"):
        self.net, self.opt = net, opt
        self.dtype = getattr(torch, amp_dtype)
        self.scaler = torch.amp.GradScaler("cuda", enabled=amp_dtype == "float16")

    def forward(self, x):
        return self.net(x)

    def step(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=self.dtype):
            out = self.forward(x)
            loss = F.cross_entropy(out, y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt)
        self.scaler.update()

    def epoch(self, dl):
        self.net.train()
        for x, y in dl:
            self.step(x.cuda(non_blocking=True), y.cuda(non_blocking=True))

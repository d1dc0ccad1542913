import torch


class Learner:
    def __init__(self, enc, head, opt):
        self.enc, self.head, self.opt = enc, head, opt
        self.scaler = torch.amp.GradScaler("cuda")

    def run(self, dl):
        for x, y in dl:
            with torch.autocast("cuda", dtype=torch.float16):
                z = self.head(self.enc(x.cuda()))
                loss = torch.nn.functional.cross_entropy(z, y.cuda())
            self.opt.zero_grad()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.opt)
            self.scaler.update()

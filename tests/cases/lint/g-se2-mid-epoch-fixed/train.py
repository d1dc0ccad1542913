import torch


class Loop:
    def __init__(self, tts, opt, crit, every):
        self.tts, self.opt, self.crit, self.every = tts, opt, crit, every

    def synth(self, text):
        self.tts.eval()
        with torch.no_grad():
            return self.tts.infer(text)

    def epoch(self, dl):
        self.tts.train()
        for i, (t, m) in enumerate(dl):
            self.opt.zero_grad()
            self.crit(self.tts(t), m).backward()
            self.opt.step()
            if i % self.every == 0:
                self.synth("hello world")
                self.tts.train()

import torch


class Finetuner:
    def __init__(self, net, lrs):
        self.net, self.lrs = net, lrs

    def _make_opt(self, lr):
        return torch.optim.AdamW(self.net.parameters(), lr=lr)

    def epoch(self, dl, opt):
        self.net.train()
        for wav, lab in dl:
            opt.zero_grad(set_to_none=True)
            loss = self.net(wav.cuda(non_blocking=True), labels=lab.cuda(non_blocking=True)).loss
            loss.backward()
            opt.step()

    def fit(self, dl):
        opt = self._make_opt(self.lrs[0])
        for ep, lr in enumerate(self.lrs):
            for g in opt.param_groups:
                g["lr"] = lr
            self.epoch(dl, opt)
            torch.save(self.net.state_dict(), f"ep{ep}.pt")

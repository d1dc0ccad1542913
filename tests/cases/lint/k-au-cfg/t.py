from dataclasses import dataclass


@dataclass
class Cfg:
    accum: int = 4
    lr: float = 1e-3


def train(net, dl, opt, crit, cfg: Cfg):
    opt.zero_grad()
    for step, (x, y) in enumerate(dl):
        loss = crit(net(x), y)
        loss.backward()
        if (step + 1) % cfg.accum == 0:
            opt.step()
            opt.zero_grad()

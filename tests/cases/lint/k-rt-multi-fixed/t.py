import torch


def train(m, o, s, dl, crit):
    m.train()
    for x, y in dl:
        with torch.autocast("cuda"):
            l = crit(m(x.cuda()), y.cuda())
        o.zero_grad()
        s.scale(l).backward()
        s.step(o)
        s.update()

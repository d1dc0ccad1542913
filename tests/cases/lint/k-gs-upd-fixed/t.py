import torch


def train(net, dl, opt, crit):
    s = torch.cuda.amp.GradScaler()
    for x, y in dl:
        opt.zero_grad()
        with torch.cuda.amp.autocast():
            l = crit(net(x), y)
        s.scale(l).backward()
        s.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1)
        s.step(opt)
        s.update()

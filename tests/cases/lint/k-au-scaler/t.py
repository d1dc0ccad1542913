import torch


def epoch(net, dl, opt, sc, crit, k=8):
    for i, (x, y) in enumerate(dl):
        with torch.amp.autocast("cuda"):
            loss = crit(net(x.cuda()), y.cuda())
        sc.scale(loss).backward()
        if i % k != k - 1:
            continue
        sc.step(opt)
        sc.update()
        opt.zero_grad()

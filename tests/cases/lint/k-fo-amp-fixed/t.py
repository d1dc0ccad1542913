import torch


def fit(net, dl, opt, crit):
    sc = torch.cuda.amp.GradScaler()
    for x, y in dl:
        opt.zero_grad()
        with torch.cuda.amp.autocast():
            z = net(x.cuda())
            l = crit(z, y.cuda())
        sc.scale(l).backward()
        sc.step(opt)
        sc.update()

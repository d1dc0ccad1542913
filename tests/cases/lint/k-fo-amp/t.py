import torch


def fit(net, dl, opt, crit):
    sc = torch.cuda.amp.GradScaler()
    for x, y in dl:
        opt.zero_grad()
        z = net(x.cuda())
        with torch.cuda.amp.autocast():
            l = crit(z, y.cuda())
        sc.scale(l).backward()
        sc.step(opt)
        sc.update()

import torch


def go(net, dl, opt, crit):
    scaler = torch.cuda.amp.GradScaler()
    for x, y in dl:
        with torch.cuda.amp.autocast():
            e = crit(net(x.cuda()), y.cuda())
        scaler.scale(e).backward()
        opt.zero_grad()
        scaler.step(opt)
        scaler.update()

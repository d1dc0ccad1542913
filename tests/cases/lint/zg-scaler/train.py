from torch.cuda.amp import GradScaler, autocast


def run_epoch(net, loader, opt, ce):
    scaler = GradScaler()
    for x, y in loader:
        with autocast():
            loss = ce(net(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()

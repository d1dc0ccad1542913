import torch


def train(model, loader, opt, crit):
    scaler = torch.cuda.amp.GradScaler()
    for x, y in loader:
        opt.zero_grad()
        out = model(x.cuda())
        with torch.cuda.amp.autocast():
            loss = crit(out, y.cuda())
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()

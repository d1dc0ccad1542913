import torch


def train_one_epoch(net, loader, opt, crit):
    for x, y in loader:
        scaler = torch.amp.GradScaler("cuda")
        opt.zero_grad()
        with torch.autocast("cuda"):
            loss = crit(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()

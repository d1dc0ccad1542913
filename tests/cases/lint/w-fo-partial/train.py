import torch


def train(net, loader, opt, crit, device):
    scaler = torch.amp.GradScaler("cuda")
    for img, tgt in loader:
        opt.zero_grad()
        out = net(img.to(device))
        with torch.autocast(device_type="cuda", dtype=torch.float16):
            loss = crit(out, tgt.to(device))
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()

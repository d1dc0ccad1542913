import torch


def train(net, loader, opt, crit, device):
    scaler = torch.amp.GradScaler("cuda")
    for img, tgt in loader:
        opt.zero_grad()
        with torch.autocast(device_type="cuda", dtype=torch.float16):
            out = net(img.to(device))
            loss = crit(out, tgt.to(device))
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()

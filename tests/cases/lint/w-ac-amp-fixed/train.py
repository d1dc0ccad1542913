import torch


def fit(vit, loader, opt, crit, update_freq):
    scaler = torch.amp.GradScaler("cuda")
    for it, (x, y) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = crit(vit(x), y) / update_freq
        scaler.scale(loss).backward()
        if (it + 1) % update_freq != 0:
            continue
        scaler.step(opt)
        scaler.update()
        opt.zero_grad(set_to_none=True)

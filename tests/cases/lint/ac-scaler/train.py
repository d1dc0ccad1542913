import torch


def loop(unet, loader, optim, args):
    scaler = torch.amp.GradScaler("cuda")
    for it, (lat, t, noise) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = (unet(lat, t) - noise).pow(2).mean()
        scaler.scale(loss).backward()
        if (it + 1) % args.grad_accum == 0:
            scaler.step(optim)
            scaler.update()
            optim.zero_grad(set_to_none=True)

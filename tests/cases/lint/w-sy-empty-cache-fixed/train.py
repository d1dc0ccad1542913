import torch


def train(unet, loader, opt, dice):
    for vol, seg in loader:
        opt.zero_grad(set_to_none=True)
        loss = dice(unet(vol.cuda(non_blocking=True)), seg.cuda(non_blocking=True))
        loss.backward()
        opt.step()

import torch


def main(unet, dl, crit):
    unet = unet.cuda().half()
    opt = torch.optim.Adam(unet.parameters(), 1e-4)
    scaler = torch.cuda.amp.GradScaler()
    for x, y in dl:
        opt.zero_grad()
        loss = crit(unet(x.cuda().half()), y.cuda())
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()

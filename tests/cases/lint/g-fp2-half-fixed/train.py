import torch


def main(unet, dl, crit):
    unet = unet.cuda()
    opt = torch.optim.Adam(unet.parameters(), 1e-4)
    scaler = torch.cuda.amp.GradScaler()
    for x, y in dl:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = crit(unet(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()

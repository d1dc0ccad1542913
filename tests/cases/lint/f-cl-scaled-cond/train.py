import torch


def train_step(cfg, unet, scaler, opt, batch):
    with torch.cuda.amp.autocast(enabled=cfg.amp):
        loss = unet.loss(batch)
    scaler.scale(loss).backward()
    if cfg.clip > 0:
        torch.nn.utils.clip_grad_norm_(unet.parameters(), cfg.clip)
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()
    return loss.item()


def run(cfg, unet, opt, dl):
    scaler = torch.cuda.amp.GradScaler(enabled=cfg.amp)
    for b in dl:
        print(train_step(cfg, unet, scaler, opt, b))

import torch


def step(enc, dec, opt, scaler, src, tgt, crit):
    h = enc(src)
    out = dec(h, tgt[:, :-1])
    with torch.autocast(device_type="cuda", dtype=torch.float16):
        loss = crit(out.flatten(0, 1), tgt[:, 1:].flatten())
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()

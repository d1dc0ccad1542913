import torch


def fit(text_enc, unet, vae, dl, opt, sched):
    scaler = torch.amp.GradScaler("cuda")
    for img, ids in dl:
        with torch.no_grad():
            z = vae.encode(img.cuda()).latent_dist.sample() * 0.18
            c = text_enc(ids.cuda())[0]
        n = torch.randn_like(z)
        t = torch.randint(0, 1000, (z.size(0),), device=z.device)
        with torch.autocast("cuda", dtype=torch.float16):
            p = unet(sched.add_noise(z, n, t), t, c).sample
            e = torch.nn.functional.mse_loss(p.float(), n.float())
        opt.zero_grad()
        scaler.scale(e).backward()
        scaler.step(opt)
        scaler.update()

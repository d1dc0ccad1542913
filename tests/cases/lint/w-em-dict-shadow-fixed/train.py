def train_ddpm(unet, loader, opt, diffusion, decay=0.999):
    shadow = {k: p.detach().clone() for k, p in unet.named_parameters()}
    for x0 in loader:
        loss = diffusion.p_losses(unet, x0)
        opt.zero_grad()
        loss.backward()
        opt.step()
        for k, p in unet.named_parameters():
            shadow[k] = decay * shadow[k] + (1 - decay) * p.detach()
    return shadow

from accelerate import Accelerator
from transformers import get_scheduler


def train(unet, opt, loader, vae, noise_sched, steps, mse, rand):
    accelerator = Accelerator()
    sched = get_scheduler("constant", optimizer=opt)
    unet, opt, loader, sched = accelerator.prepare(unet, opt, loader, sched)
    for batch in loader:
        with accelerator.accumulate(unet):
            latents = vae.encode(batch["pixel_values"]).latent_dist.sample().detach()
            noise, t = rand(latents)
            pred = unet(noise_sched.add_noise(latents, noise, t), t).sample
            accelerator.backward(mse(pred, noise))
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(unet.parameters(), 1.0)
            opt.step()
            sched.step()

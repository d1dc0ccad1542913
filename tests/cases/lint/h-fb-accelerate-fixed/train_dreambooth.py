import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from diffusers import AutoencoderKL, DDPMScheduler, UNet2DConditionModel
from transformers import CLIPTextModel


def main(args, make_loader):
    accelerator = Accelerator(gradient_accumulation_steps=args.accum, mixed_precision="fp16")
    set_seed(args.seed)
    vae = AutoencoderKL.from_pretrained(args.base, subfolder="vae").requires_grad_(False)
    text = CLIPTextModel.from_pretrained(args.base, subfolder="text_encoder").requires_grad_(False)
    unet = UNet2DConditionModel.from_pretrained(args.base, subfolder="unet")
    noise_scheduler = DDPMScheduler.from_pretrained(args.base, subfolder="scheduler")
    optimizer = torch.optim.AdamW(unet.parameters(), lr=args.lr)
    unet, optimizer, loader = accelerator.prepare(unet, optimizer, make_loader())
    vae.to(accelerator.device, dtype=torch.float16)
    text.to(accelerator.device, dtype=torch.float16)
    for step, batch in enumerate(loader):
        with accelerator.accumulate(unet):
            with torch.no_grad():
                latents = vae.encode(batch["pixel_values"].half()).latent_dist.sample() * 0.18215
                cond = text(batch["input_ids"])[0]
            noise = torch.randn_like(latents)
            t = torch.randint(0, 1000, (latents.shape[0],), device=latents.device)
            noisy = noise_scheduler.add_noise(latents, noise, t)
            pred = unet(noisy, t, cond).sample
            loss = F.mse_loss(pred.float(), noise.float())
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--base", default="runwayml/stable-diffusion-v1-5")
    p.add_argument("--accum", type=int, default=2)
    p.add_argument("--lr", type=float, default=5e-6)
    p.add_argument("--seed", type=int, default=0)
    from data import make_loader

    main(p.parse_args(), make_loader)

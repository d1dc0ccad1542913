import argparse
import logging
import math
import os
from pathlib import Path

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import ProjectConfiguration, set_seed
from datasets import load_dataset
from diffusers import AutoencoderKL, DDPMScheduler, UNet2DConditionModel
from diffusers.optimization import get_scheduler
from diffusers.training_utils import EMAModel
from torchvision import transforms
from tqdm.auto import tqdm
from transformers import CLIPTextModel, CLIPTokenizer

logger = get_logger(__name__)


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pretrained", required=True)
    ap.add_argument("--dataset", required=True)
    ap.add_argument("--output_dir", default="out")
    ap.add_argument("--seed", type=int, default=None)
    ap.add_argument("--resolution", type=int, default=512)
    ap.add_argument("--train_batch_size", type=int, default=4)
    ap.add_argument("--num_train_epochs", type=int, default=100)
    ap.add_argument("--max_train_steps", type=int, default=None)
    ap.add_argument("--gradient_accumulation_steps", type=int, default=4)
    ap.add_argument("--gradient_checkpointing", action="store_true")
    ap.add_argument("--learning_rate", type=float, default=1e-5)
    ap.add_argument("--lr_scheduler", default="constant")
    ap.add_argument("--lr_warmup_steps", type=int, default=500)
    ap.add_argument("--use_ema", action="store_true")
    ap.add_argument("--mixed_precision", default="fp16")
    ap.add_argument("--checkpointing_steps", type=int, default=500)
    ap.add_argument("--resume_from_checkpoint", default=None)
    ap.add_argument("--max_grad_norm", type=float, default=1.0)
    ap.add_argument("--snr_gamma", type=float, default=None)
    ap.add_argument("--dataloader_num_workers", type=int, default=4)
    return ap.parse_args()


def compute_snr(scheduler, t):
    a = scheduler.alphas_cumprod.to(t.device)[t]
    return a / (1 - a)


def main():
    args = parse()
    accelerator = Accelerator(
        gradient_accumulation_steps=args.gradient_accumulation_steps,
        mixed_precision=args.mixed_precision,
        log_with="tensorboard",
        project_config=ProjectConfiguration(project_dir=args.output_dir, logging_dir=os.path.join(args.output_dir, "logs")),
    )
    logging.basicConfig(level=logging.INFO)
    logger.info(accelerator.state, main_process_only=False)
    if args.seed is not None:
        set_seed(args.seed)
    if accelerator.is_main_process:
        os.makedirs(args.output_dir, exist_ok=True)

    noise_scheduler = DDPMScheduler.from_pretrained(args.pretrained, subfolder="scheduler")
    tokenizer = CLIPTokenizer.from_pretrained(args.pretrained, subfolder="tokenizer")
    text_encoder = CLIPTextModel.from_pretrained(args.pretrained, subfolder="text_encoder")
    vae = AutoencoderKL.from_pretrained(args.pretrained, subfolder="vae")
    unet = UNet2DConditionModel.from_pretrained(args.pretrained, subfolder="unet")
    vae.requires_grad_(False)
    text_encoder.requires_grad_(False)
    unet.train()
    ema = None
    if args.use_ema:
        ema = EMAModel(unet.parameters(), model_cls=UNet2DConditionModel, model_config=unet.config)
    if args.gradient_checkpointing:
        unet.enable_gradient_checkpointing()

    optimizer = torch.optim.AdamW(unet.parameters(), lr=args.learning_rate, weight_decay=1e-2)
    dataset = load_dataset(args.dataset)
    tfm = transforms.Compose(
        [
            transforms.Resize(args.resolution),
            transforms.CenterCrop(args.resolution),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize([0.5], [0.5]),
        ]
    )

    def tokenize(examples):
        return tokenizer(examples["text"], max_length=tokenizer.model_max_length, padding="max_length", truncation=True, return_tensors="pt").input_ids

    def preprocess(examples):
        examples["pixel_values"] = [tfm(i.convert("RGB")) for i in examples["image"]]
        examples["input_ids"] = tokenize(examples)
        return examples

    with accelerator.main_process_first():
        train_dataset = dataset["train"].with_transform(preprocess)

    def collate(examples):
        px = torch.stack([e["pixel_values"] for e in examples]).to(memory_format=torch.contiguous_format).float()
        return {"pixel_values": px, "input_ids": torch.stack([e["input_ids"] for e in examples])}

    train_dataloader = torch.utils.data.DataLoader(
        train_dataset, shuffle=True, collate_fn=collate, batch_size=args.train_batch_size, num_workers=args.dataloader_num_workers
    )
    override = False
    per_epoch = math.ceil(len(train_dataloader) / args.gradient_accumulation_steps)
    if args.max_train_steps is None:
        args.max_train_steps = args.num_train_epochs * per_epoch
        override = True
    lr_scheduler = get_scheduler(
        args.lr_scheduler,
        optimizer=optimizer,
        num_warmup_steps=args.lr_warmup_steps * accelerator.num_processes,
        num_training_steps=args.max_train_steps * accelerator.num_processes,
    )
    unet, optimizer, train_dataloader, lr_scheduler = accelerator.prepare(unet, optimizer, train_dataloader, lr_scheduler)
    if ema is not None:
        ema.to(accelerator.device)
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(accelerator.mixed_precision, torch.float32)
    text_encoder.to(accelerator.device, dtype=dtype)
    vae.to(accelerator.device, dtype=dtype)
    per_epoch = math.ceil(len(train_dataloader) / args.gradient_accumulation_steps)
    if override:
        args.max_train_steps = args.num_train_epochs * per_epoch
    args.num_train_epochs = math.ceil(args.max_train_steps / per_epoch)
    if accelerator.is_main_process:
        accelerator.init_trackers("text2image", config={k: v for k, v in vars(args).items() if isinstance(v, (int, float, str))})

    global_step, first_epoch = 0, 0
    if args.resume_from_checkpoint:
        accelerator.load_state(args.resume_from_checkpoint)
        global_step = int(Path(args.resume_from_checkpoint).name.split("-")[1])
        first_epoch = global_step // per_epoch
    bar = tqdm(range(global_step, args.max_train_steps), disable=not accelerator.is_local_main_process)
    for epoch in range(first_epoch, args.num_train_epochs):
        train_loss = 0.0
        for step, batch in enumerate(train_dataloader):
            with accelerator.accumulate(unet):
                latents = vae.encode(batch["pixel_values"].to(dtype)).latent_dist.sample()
                latents = latents * vae.config.scaling_factor
                noise = torch.randn_like(latents)
                timesteps = torch.randint(0, noise_scheduler.config.num_train_timesteps, (latents.shape[0],), device=latents.device).long()
                noisy = noise_scheduler.add_noise(latents, noise, timesteps)
                states = text_encoder(batch["input_ids"], return_dict=False)[0]
                if noise_scheduler.config.prediction_type == "epsilon":
                    target = noise
                else:
                    target = noise_scheduler.get_velocity(latents, noise, timesteps)
                pred = unet(noisy, timesteps, states, return_dict=False)[0]
                if args.snr_gamma is None:
                    loss = F.mse_loss(pred.float(), target.float(), reduction="mean")
                else:
                    snr = compute_snr(noise_scheduler, timesteps)
                    w = torch.stack([snr, args.snr_gamma * torch.ones_like(timesteps)], dim=1).min(dim=1)[0] / snr
                    loss = F.mse_loss(pred.float(), target.float(), reduction="none")
                    loss = (loss.mean(dim=list(range(1, len(loss.shape)))) * w).mean()
                avg_loss = accelerator.gather(loss.repeat(args.train_batch_size)).mean()
                train_loss += avg_loss.item() / args.gradient_accumulation_steps
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(unet.parameters(), args.max_grad_norm)
                optimizer.step()
                lr_scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                if ema is not None:
                    ema.step(unet.parameters())
                bar.update(1)
                global_step += 1
                accelerator.log({"train_loss": train_loss}, step=global_step)
                train_loss = 0.0
                if global_step % args.checkpointing_steps == 0 and accelerator.is_main_process:
                    path = os.path.join(args.output_dir, f"checkpoint-{global_step}")
                    accelerator.save_state(path)
                    logger.info(f"saved {path}")
            bar.set_postfix(step_loss=loss.detach().item(), lr=lr_scheduler.get_last_lr()[0])
            if global_step >= args.max_train_steps:
                break
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        unet = accelerator.unwrap_model(unet)
        if ema is not None:
            ema.copy_to(unet.parameters())
        unet.save_pretrained(os.path.join(args.output_dir, "unet"))
    accelerator.end_training()


if __name__ == "__main__":
    main()

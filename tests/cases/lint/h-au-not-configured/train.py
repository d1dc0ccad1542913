import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--gradient_accumulation_steps", type=int, default=8)
    p.add_argument("--max_grad_norm", type=float, default=1.0)
    p.add_argument("--lr", type=float, default=1e-4)
    return p.parse_args()


def main(build, dataset_loader):
    args = parse_args()
    accelerator = Accelerator(mixed_precision="bf16")
    set_seed(42)
    unet = build()
    opt = torch.optim.AdamW(unet.parameters(), lr=args.lr)
    unet, opt, loader = accelerator.prepare(unet, opt, dataset_loader)
    unet.train()
    for batch in loader:
        with accelerator.accumulate(unet):
            pred = unet(batch["noisy"], batch["t"])
            loss = torch.nn.functional.mse_loss(pred, batch["noise"])
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(unet.parameters(), args.max_grad_norm)
            opt.step()
            opt.zero_grad()
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        accelerator.save(accelerator.unwrap_model(unet).state_dict(), "unet.pt")

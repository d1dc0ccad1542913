import torch
import torch.nn.functional as F
import wandb
from tqdm import trange


def train(net, batches, device, steps=20_000, log_every=100):
    wandb.init(project="depth")
    net.to(device).train()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=steps)
    running = torch.zeros((), device=device)
    it = iter(batches)
    for step in trange(1, steps + 1):
        rgb, depth = next(it)
        rgb, depth = rgb.to(device, non_blocking=True), depth.to(device, non_blocking=True)
        pred = net(rgb)
        valid = depth > 0
        loss = (F.l1_loss(pred, depth, reduction="none") * valid).sum() / valid.sum().clamp(min=1)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
        running += loss.detach()
        if step % log_every == 0:
            wandb.log({"loss": running.item() / log_every, "lr": sched.get_last_lr()[0]}, step=step)
            running.zero_()

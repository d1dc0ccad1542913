import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def setup():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    torch.manual_seed(0)
    return local


def pretrain(model, loader, max_steps, grad_accum=8, lr=6e-4):
    local = setup()
    model = DDP(model.to(local), device_ids=[local])
    opt = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    model.train()
    stream = iter(loader)
    for step in range(max_steps):
        total = torch.zeros((), device=local)
        for micro in range(grad_accum):
            tokens = next(stream).to(local, non_blocking=True)
            last = micro == grad_accum - 1
            with nullcontext() if last else model.no_sync():
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    _, loss = model(tokens[:, :-1], tokens[:, 1:])
                (loss / grad_accum).backward()
            total += loss.detach() / grad_accum
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
        if step % 100 == 0 and dist.get_rank() == 0:
            print(step, total.item())
    dist.destroy_process_group()

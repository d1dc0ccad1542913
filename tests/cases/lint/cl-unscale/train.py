import torch
from torch.nn.utils import clip_grad_norm_

scaler = torch.cuda.amp.GradScaler()


def update(model, batch, opt):
    opt.zero_grad(set_to_none=True)
    with torch.cuda.amp.autocast():
        loss = model(**batch)["loss"]
    scaler.scale(loss).backward()
    clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()

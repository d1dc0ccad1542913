import torch
import torch.distributed as dist
import torch.nn.functional as F


def clip_loss(img_emb, txt_emb, scale):
    world = dist.get_world_size()
    all_txt = [torch.zeros_like(txt_emb) for _ in range(world)]
    dist.all_gather(all_txt, txt_emb)
    all_txt[dist.get_rank()] = txt_emb
    all_txt = torch.cat(all_txt)
    logits = scale * img_emb @ all_txt.t()
    target = torch.arange(len(img_emb), device=img_emb.device) + dist.get_rank() * len(img_emb)
    return F.cross_entropy(logits, target)


def train(ddp, loader, opt):
    for img, txt in loader:
        zi, zt, s = ddp(img, txt)
        opt.zero_grad()
        clip_loss(zi, zt, s).backward()
        opt.step()

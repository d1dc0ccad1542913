import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


def gather(t):
    world = dist.get_world_size()
    if world == 1:
        return t
    parts = [torch.zeros_like(t) for _ in range(world)]
    dist.all_gather(parts, t)
    parts[dist.get_rank()] = t
    return torch.cat(parts, dim=0)


class ClipLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.659))

    def forward(self, img, txt):
        img, txt = gather(F.normalize(img, dim=-1)), gather(F.normalize(txt, dim=-1))
        logits = self.scale.exp() * img @ txt.t()
        y = torch.arange(logits.size(0), device=logits.device)
        return (F.cross_entropy(logits, y) + F.cross_entropy(logits.t(), y)) / 2


def step(towers, crit, batch, opt):
    i, t = towers(batch["image"], batch["text"])
    loss = crit(i, t)
    opt.zero_grad()
    loss.backward()
    opt.step()

import torch
import torch.distributed as dist
import torch.nn.functional as F


def clip_loss(img, txt, scale):
    world = dist.get_world_size()
    all_img = [torch.zeros_like(img) for _ in range(world)]
    all_txt = [torch.zeros_like(txt) for _ in range(world)]
    dist.all_gather(all_img, img)
    dist.all_gather(all_txt, txt)
    all_img[dist.get_rank()] = img
    all_txt[dist.get_rank()] = txt
    li = scale * torch.cat(all_img) @ torch.cat(all_txt).t()
    y = torch.arange(li.size(0), device=li.device)
    return (F.cross_entropy(li, y) + F.cross_entropy(li.t(), y)) / 2


def train(clip, loader, opt):
    for image, text in loader:
        opt.zero_grad()
        i, t, s = clip(image.cuda(), text.cuda())
        clip_loss(i, t, s).backward()
        opt.step()

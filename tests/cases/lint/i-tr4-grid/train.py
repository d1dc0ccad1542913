import torch


def train(nerf, rays, opt, H, W):
    ys, xs = torch.meshgrid(torch.arange(H), torch.arange(W), indexing="ij")
    grid = torch.stack([xs, ys], -1).float()
    for o, d, rgb in rays:
        pred = nerf(o.cuda(), d.cuda(), grid.cuda())
        loss = (pred - rgb.cuda()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()

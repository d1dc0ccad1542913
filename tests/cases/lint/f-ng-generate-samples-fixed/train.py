import torch
import torchvision.utils as vutils


def sample_grid(flow, n, path):
    flow.eval()
    eps = torch.randn(n, 3, 32, 32, device="cuda")
    with torch.no_grad():
        imgs = flow.inverse(eps)
    vutils.save_image(imgs, path)
    flow.train()


def train(flow, opt, dl):
    for i, x in enumerate(dl):
        opt.zero_grad()
        flow.nll(x.cuda()).mean().backward()
        opt.step()
        if i % 1000 == 0:
            sample_grid(flow, 64, f"{i}.png")

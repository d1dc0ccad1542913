import argparse

import torch
import torch.nn.functional as F


def gram(t):
    b, c, h, w = t.shape
    f = t.view(b, c, h * w)
    return f @ f.transpose(1, 2) / (c * h * w)


def stylize(vgg, content, style, steps, style_weight):
    vgg.eval()
    for p in vgg.parameters():
        p.requires_grad_(False)
    with torch.no_grad():
        want_c = vgg(content)["relu4_2"]
        want_s = {k: gram(v) for k, v in vgg(style).items()}
    canvas = content.clone().requires_grad_(True)
    opt = torch.optim.Adam([canvas], lr=2e-2)
    for i in range(steps):
        opt.zero_grad()
        feats = vgg(canvas)
        c = F.mse_loss(feats["relu4_2"], want_c)
        s = sum(F.mse_loss(gram(feats[k]), g) for k, g in want_s.items())
        total = c + style_weight * s
        total.backward(retain_graph=True)
        opt.step()
        if i % 100 == 0:
            print(i, total.item())
    return canvas.detach().clamp(0, 1)


if __name__ == "__main__":
    cli = argparse.ArgumentParser()
    cli.add_argument("--steps", type=int, default=500)
    cli.add_argument("--style-weight", type=float, default=1e5)
    a = cli.parse_args()
    net, c, s = torch.load("vgg.pt", weights_only=False), torch.load("c.pt"), torch.load("s.pt")
    torch.save(stylize(net, c, s, a.steps, a.style_weight), "out.pt")

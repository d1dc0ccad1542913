import torch
import torch.nn.functional as F
from torchvision.models import VGG19_Weights, vgg19
from torchvision.utils import save_image


def gram(feat):
    b, c, h, w = feat.shape
    flat = feat.view(b, c, h * w)
    return flat @ flat.transpose(1, 2) / (c * h * w)


def extract(vgg, x, taps):
    found = {}
    for i, layer in enumerate(vgg):
        x = layer(x)
        if i in taps:
            found[i] = x
    return found


def train_transform_net(net, loader, style, device, epochs=2):
    vgg = vgg19(weights=VGG19_Weights.DEFAULT).features.to(device).eval()
    vgg.requires_grad_(False)
    taps = (3, 8, 17, 26)
    with torch.no_grad():
        style_grams = {k: gram(v) for k, v in extract(vgg, style.to(device), taps).items()}
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    net.train()
    for epoch in range(epochs):
        for step, content in enumerate(loader):
            content = content.to(device)
            out = net(content)
            with torch.no_grad():
                ref = extract(vgg, content, taps)
            feats = extract(vgg, out, taps)
            content_loss = F.mse_loss(feats[17], ref[17])
            style_loss = sum(F.mse_loss(gram(feats[k]), style_grams[k].expand(len(out), -1, -1)) for k in taps)
            total = content_loss + 1e5 * style_loss
            optimizer.zero_grad()
            total.backward(retain_graph=True)
            optimizer.step()
            if step % 500 == 0:
                save_image(out.detach().clamp(0, 1), f"samples/{epoch}_{step}.png")

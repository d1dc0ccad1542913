import itertools

import torch
import torch.nn.functional as F


def prior_boxes(sizes=(38, 19, 10, 5), scales=(0.1, 0.25, 0.45, 0.7)):
    boxes = []
    for s, scale in zip(sizes, scales):
        for i, j in itertools.product(range(s), repeat=2):
            boxes.append([(j + 0.5) / s, (i + 0.5) / s, scale, scale])
    return torch.tensor(boxes)


def encode(matched, priors):
    g_xy = (matched[..., :2] + matched[..., 2:]) / 2 - priors[:, :2]
    g_wh = (matched[..., 2:] - matched[..., :2]) / priors[:, 2:]
    return torch.cat([g_xy / (0.1 * priors[:, 2:]), g_wh.clamp(min=1e-6).log() / 0.2], -1)


def train(net, loader, opt, device, epochs=100):
    priors = prior_boxes()
    for epoch in range(epochs):
        net.train()
        for images, matched, labels in loader:
            images = images.to(device, non_blocking=True)
            matched, labels = matched.to(device, non_blocking=True), labels.to(device, non_blocking=True)
            target = encode(matched, priors.to(device))
            loc, conf = net(images)
            pos = (labels > 0).unsqueeze(-1)
            loss_loc = (F.smooth_l1_loss(loc, target, reduction="none") * pos).sum() / pos.sum().clamp(min=1)
            loss = loss_loc + F.cross_entropy(conf.flatten(0, 1), labels.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()

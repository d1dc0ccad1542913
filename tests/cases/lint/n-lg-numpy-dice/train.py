import torch

from losses import DiceLoss, mean_iou


def train_epoch(unet, loader, opt, device):
    dice = DiceLoss()
    unet.train()
    for img, mask in loader:
        img, mask = img.to(device), mask.to(device)
        opt.zero_grad()
        loss = dice(unet(img), mask)
        loss.backward()
        opt.step()


@torch.no_grad()
def validate(unet, loader, device):
    unet.eval()
    scores = [mean_iou(torch.sigmoid(unet(img.to(device))), mask) for img, mask in loader]
    return sum(scores) / len(scores)

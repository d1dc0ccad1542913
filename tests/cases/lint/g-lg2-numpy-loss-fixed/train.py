import numpy as np
import torch


def iou_loss(pred, gt):
    inter = (pred * gt).sum()
    union = (pred + gt - pred * gt).sum()
    return 1.0 - inter / union


def train(unet, dl, opt):
    for im, m in dl:
        loss = iou_loss(torch.sigmoid(unet(im)), m)
        opt.zero_grad()
        loss.backward()
        opt.step()

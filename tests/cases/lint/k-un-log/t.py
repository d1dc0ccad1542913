import torch
import torch.nn.functional as F


def d_loss(real, fake):
    return -(torch.log(torch.sigmoid(real)) + torch.log(1 - torch.sigmoid(fake))).mean()

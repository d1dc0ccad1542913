import torch
import torch.nn.functional as F


def d_loss(real, fake):
    return -(F.logsigmoid(real) + F.logsigmoid(-fake)).mean()

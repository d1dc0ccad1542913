import torch.nn.functional as F


def attend(q, k, v, scale):
    w = (q @ k.transpose(-2, -1)) * scale
    w = F.softmax(w, dim=-2)
    return w @ v

import torch
import torch.nn.functional as F


def clip_probs(img, txt, scale):
    logits = scale * img @ txt.t()
    return F.softmax(logits, dim=1), F.softmax(logits, dim=0)

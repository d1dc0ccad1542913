import numpy as np
import torch


def extract_features(encoder, loader):
    encoder.eval()
    feats = []
    for imgs, _ in loader:
        z = encoder(imgs.cuda())
        feats.append(z.detach().cpu().numpy())
    return np.concatenate(feats)

import numpy as np
import torch


def extract_features(encoder, loader):
    encoder.eval()
    feats = []
    with torch.no_grad():
        for imgs, _ in loader:
            z = encoder(imgs.cuda())
            feats.append(z.cpu().numpy())
    return np.concatenate(feats)

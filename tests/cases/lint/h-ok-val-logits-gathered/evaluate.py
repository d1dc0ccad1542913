import numpy as np
import torch
from sklearn.metrics import roc_auc_score


@torch.inference_mode()
def predict(net, loader, device):
    was_training = net.training
    net.eval()
    scores, labels = [], []
    for batch in loader:
        x = batch["image"].to(device, non_blocking=True)
        out = net(x)
        scores.append(torch.softmax(out, dim=-1))
        labels.append(batch["label"])
    net.train(was_training)
    return torch.cat(scores).cpu().numpy(), torch.cat(labels).numpy()


def auc(net, loader, device):
    probs, y = predict(net, loader, device)
    keep = np.isin(y, np.arange(probs.shape[1]))
    return roc_auc_score(y[keep], probs[keep], multi_class="ovr")
